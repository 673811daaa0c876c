/**
 * How long a lock takes from hand to hand when few and when many wait for it: the same sessions, each with its share of the waiters, who
 * join the end of the queue again as soon as they have had it. What the queue costs shows as the difference.
 */

import { connect, type Client } from '@holdfast/client';
import { waitUntil } from '@holdfast/ensemble';

import { withScratchEnsemble } from './scratch-ensemble.ts';

const SESSIONS = 10;
const LOCK = 'bench/waiters';
const QUEUED_LIMIT_MS = 120_000;
const POLL_MS = 100;

export interface WaitersOptions {
  /** How many wait, in each measurement; multiples of the sessions. */
  readonly waiters: readonly number[];
  /** Hand-overs that are timed, in each turn. */
  readonly handOvers: number;
  /** Every measurement has so many turns, one after another in each round. */
  readonly rounds: number;
  readonly say: (line: string) => void;
}

export interface WaitersTurn {
  readonly waiters: number;
  /** Mean time of a hand-over, for each round. */
  readonly microseconds: readonly number[];
}

export async function measureWaiters({ waiters, handOvers, rounds, say }: WaitersOptions): Promise<WaitersTurn[]> {
  return await withScratchEnsemble(async ({ clientAddresses: servers }) => {
    const times = new Map<number, number[]>(waiters.map((count) => [count, []]));
    const warm = Math.max(1, Math.floor(handOvers / 4));
    await turn(servers, Math.min(...waiters), warm);
    for (let round = 1; round <= rounds; round += 1) {
      for (const [count, taken] of times) {
        say(`round ${round} of ${rounds}: ${count.toLocaleString('en')} waiters`);
        taken.push(await turn(servers, count, handOvers));
      }
    }
    return [...times].map(([count, microseconds]) => ({ waiters: count, microseconds }));
  });
}

/** Mean time of a hand-over in microseconds. */
async function turn(servers: readonly string[], waiters: number, handOvers: number): Promise<number> {
  const clients = await Promise.all(Array.from({ length: SESSIONS + 1 }, () => connect({ servers })));
  const [holder, ...others] = clients as [Client, ...Client[]];
  const held = await holder.lock(LOCK).acquire();
  const race = new HandOvers(handOvers);
  try {
    const loops = others.flatMap((client) =>
      Array.from({ length: waiters / SESSIONS }, () => waitAgainAndAgain(client, race)),
    );
    const queued = await waitUntil(async () => {
      for await (const summary of holder.admin.locks(LOCK)) if (summary.waiters >= waiters) return true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      return undefined;
    }, QUEUED_LIMIT_MS);
    if (queued === undefined) throw new Error(`not all of ${waiters} waited within ${QUEUED_LIMIT_MS} ms`);
    race.begin();
    await held.release();
    const tookMs = await race.over;
    await Promise.all(loops);
    return (1_000 * tookMs) / handOvers;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

class HandOvers {
  readonly over: Promise<number>;
  readonly #ended = new AbortController();
  readonly #last: number;
  #done = 0;
  #beganMs = 0;
  #resolve: (tookMs: number) => void = () => undefined;

  constructor(last: number) {
    this.#last = last;
    this.over = new Promise((resolve) => (this.#resolve = resolve));
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  begin(): void {
    this.#beganMs = performance.now();
  }

  count(): void {
    this.#done += 1;
    if (this.#done !== this.#last) return;
    this.#resolve(performance.now() - this.#beganMs);
    this.#ended.abort();
  }
}

async function waitAgainAndAgain(client: Client, race: HandOvers): Promise<void> {
  while (!race.ended.aborted) {
    const attempt = await client.lock(LOCK).tryAcquire({ waitMs: Infinity, signal: race.ended });
    if (!attempt.acquired) continue;
    race.count();
    await attempt.held.release();
  }
}
