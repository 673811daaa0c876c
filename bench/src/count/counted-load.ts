/**
 * The loads that are counted. They leave nothing to chance: with one session nothing can be batched; in a burst the leader
 * is stopped while every session sends, so that it finds all requests at once and each burst is one batch.
 */

import { openHoldfastSession } from '../generator/holdfast/holdfast-session.ts';
import type { RawSession } from '../generator/raw-session.ts';
import type { CountedServer } from './counted-ensemble.ts';

const BURST_SESSIONS = 64;
const SESSION_TIMEOUT_MS = 120_000;
const WARM_UP_RUNS = 2;

export interface CountedLoad {
  readonly name: 'one session' | 'bursts of 64 sessions';
  /** Acquire+release cycles that `run` makes. */
  readonly cycles: number;
  warmUp(): Promise<void>;
  run(): Promise<void>;
  close(): Promise<void>;
}

export async function oneSession(leader: CountedServer, cycles: number): Promise<CountedLoad> {
  const session = await open(leader.address);
  const run = async (): Promise<void> => {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      await called((granted) => session.acquire('count-one', granted));
      await called((done) => session.release(done));
    }
  };
  return {
    name: 'one session',
    cycles,
    async warmUp() {
      for (let again = 0; again < WARM_UP_RUNS; again += 1) await run();
    },
    run,
    close: () => called((done) => session.close(done)),
  };
}

export async function bursts(leader: CountedServer, rounds: number, warmUpRounds: number): Promise<CountedLoad> {
  const sessions: RawSession[] = [];
  for (let n = 0; n < BURST_SESSIONS; n += 1) sessions.push(await open(leader.address));
  const run = async (count: number): Promise<void> => {
    for (let round = 0; round < count; round += 1) {
      await burst(leader.pid, sessions, (session, n, answered) => session.acquire(`count-${n}`, answered));
      await burst(leader.pid, sessions, (session, _n, answered) => session.release(answered));
    }
  };
  return {
    name: 'bursts of 64 sessions',
    cycles: rounds * BURST_SESSIONS,
    warmUp: () => run(warmUpRounds),
    run: () => run(rounds),
    async close() {
      await Promise.all(sessions.map((session) => called((done) => session.close(done))));
    },
  };
}

async function burst(
  leader: number,
  sessions: readonly RawSession[],
  send: (session: RawSession, n: number, answered: () => void) => void,
): Promise<void> {
  process.kill(leader, 'SIGSTOP');
  const answers = sessions.map((session, n) => called((answered) => send(session, n, answered)));
  // A write to a socket that is not full is over when it returns: everything lies in the leader's receive buffers.
  process.kill(leader, 'SIGCONT');
  await Promise.all(answers);
}

function open(address: string): Promise<RawSession> {
  return new Promise((resolve, reject) =>
    openHoldfastSession({ address, sessionTimeoutMs: SESSION_TIMEOUT_MS, onFailure: reject }, resolve),
  );
}

function called(work: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => work(resolve));
}
