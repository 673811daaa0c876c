/** The rounds of large transactions as a table. */

import type { LargeTransactionRound } from './large-transactions.ts';

export const LARGE_TRANSACTIONS_HEAD: readonly string[] = [
  '| round | transaction, ms | slowest call beside it, ms | slowest without, ms | more, ms | slowest acquire from when it was due, ms | leader, ms of processor |',
  '|---|---|---|---|---|---|---|',
];

/** How much longer the slowest call took than without the transaction; 0 where it took no longer. */
export function stallMs({ worstCallMs, quietWorstCallMs }: LargeTransactionRound): number {
  return Math.max(0, worstCallMs - quietWorstCallMs);
}

export function largeTransactionRow(round: LargeTransactionRound): string {
  const { transactionMs, worstCallMs, quietWorstCallMs, worstMs, leaderMs } = round;
  const times = [transactionMs, worstCallMs, quietWorstCallMs, stallMs(round), worstMs, leaderMs];
  return `| ${[round.round, ...times.map((ms) => ms.toFixed(1))].join(' | ')} |`;
}
