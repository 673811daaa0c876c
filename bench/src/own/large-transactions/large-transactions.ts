/**
 * What a transaction of very many deletes does to everybody else: a few sessions acquire and release at a steady pace, and the slowest
 * call beside the transaction is set beside the slowest of a second without one.
 */

import { setTimeout as pause } from 'node:timers/promises';

import { secondsOf } from '../../machine/processor-time.ts';
import { ClientProcess } from '../client-process.ts';
import { PacedAcquires, type AcquireTimes } from '../paced-acquires.ts';
import { withScratchEnsemble } from '../scratch-ensemble.ts';
import type { LargeTransactionsOrder, LargeTransactionsReport } from './orders.ts';

export interface LargeTransactionsOptions {
  /** Of one transaction. */
  readonly deletes: number;
  readonly rounds: number;
  readonly say: (line: string) => void;
  readonly report: (round: LargeTransactionRound) => void;
}

export interface LargeTransactionRound {
  readonly round: number;
  /** Until its client had the answer. */
  readonly transactionMs: number;
  /** The slowest call from half a second before it until half a second behind it, and of a second before that. */
  readonly worstCallMs: number;
  readonly quietWorstCallMs: number;
  /** The slowest acquire meanwhile from when it was due, which may have waited for the release before it as well. */
  readonly worstMs: number;
  /** Processor time of the leader meanwhile, more than it takes without. */
  readonly leaderMs: number;
}

/** Compilers have seen all of it by then. */
const WARM_UP_ROUNDS = 2;
/** For what the creations leave behind. */
const SETTLE_MS = 1_000;
/** Before and behind the transaction; acquires that it delays end in there. */
const AROUND_MS = 500;

export async function measureLargeTransactions(options: LargeTransactionsOptions): Promise<LargeTransactionRound[]> {
  const { deletes, rounds, say, report } = options;
  return await withScratchEnsemble(async (ensemble) => {
    const servers = ensemble.clientAddresses;
    const clients = new ClientProcess<LargeTransactionsOrder, LargeTransactionsReport>(
      new URL('clients.js', import.meta.url),
    );
    try {
      await clients.ask({ type: 'open', servers });
      const acquires = await PacedAcquires.start(servers);
      try {
        const results: LargeTransactionRound[] = [];
        const leader = ensemble.pid(await ensemble.waitForLeader()) ?? 0;
        for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round += 1) {
          say(round < 1 ? 'warming up' : `round ${round} of ${rounds}`);
          await clients.ask({ type: 'create', nodes: deletes });
          await pause(SETTLE_MS);
          const result = await measureRound(round, clients, acquires, leader);
          acquires.pause();
          if (round < 1) continue;
          report(result);
          results.push(result);
        }
        return results;
      } finally {
        await acquires.stop();
      }
    } finally {
      await clients.end();
    }
  });
}

async function measureRound(
  round: number,
  clients: ClientProcess<LargeTransactionsOrder, LargeTransactionsReport>,
  acquires: PacedAcquires,
  leader: number,
): Promise<LargeTransactionRound> {
  const timed = async (work: () => Promise<number>): Promise<AcquireTimes & { took: number; leaderMs: number }> => {
    const before = secondsOf([leader]);
    acquires.begin();
    await pause(AROUND_MS);
    const took = await work();
    await pause(AROUND_MS);
    return { ...acquires.read(), took, leaderMs: 1_000 * (secondsOf([leader]) - before) };
  };
  const quiet = await timed(async () => 0);
  const beside = await timed(async () => (await clients.ask({ type: 'delete' })).ms);
  return {
    round,
    transactionMs: beside.took,
    worstCallMs: beside.worstCallMs,
    quietWorstCallMs: quiet.worstCallMs,
    worstMs: beside.worstMs,
    leaderMs: beside.leaderMs - (quiet.leaderMs * beside.seconds) / quiet.seconds,
  };
}
