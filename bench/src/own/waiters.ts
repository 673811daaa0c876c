/**
 * How long a lock takes from hand to hand when few and when many wait for it: the same sessions, each with its share of the waiters, who
 * join the end of the queue again as soon as they have had it. What the queue costs shows as the difference.
 */

import { connect, type Client } from '@holdfast/client';
import { waitUntil } from '@holdfast/ensemble';

const SESSIONS = 10;
const LOCK = 'bench/waiters';
const QUEUED_LIMIT_MS = 120_000;
const POLL_MS = 100;

/**
 * Milliseconds of so many hand-overs, from when the first holder lets go until the last is granted.
 *
 * @param waiters a multiple of the sessions
 */
export async function timeHandOvers(servers: readonly string[], waiters: number, handOvers: number): Promise<number> {
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
    return tookMs;
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
