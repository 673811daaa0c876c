/** The rounds of large transactions as a table. */

import type { LargeTransactionRound } from './large-transactions.ts';

export const LARGE_TRANSACTIONS_HEAD: readonly string[] = [
  '| round | transaction, ms | slowest acquire beside it, ms | slowest without, ms | more, ms | leader, ms of processor |',
  '|---|---|---|---|---|---|',
];

/** How much longer the slowest acquire took than without the transaction; 0 where it took no longer. */
export function stallMs({ worstMs, quietWorstMs }: LargeTransactionRound): number {
  return Math.max(0, worstMs - quietWorstMs);
}

export function largeTransactionRow(round: LargeTransactionRound): string {
  const { transactionMs, worstMs, quietWorstMs, leaderMs } = round;
  const times = [transactionMs, worstMs, quietWorstMs, stallMs(round), leaderMs].map((ms) => ms.toFixed(1));
  return `| ${[round.round, ...times].join(' | ')} |`;
}
