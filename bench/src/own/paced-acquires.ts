/**
 * A few sessions that take and give back locks of their own at a steady pace, whatever the servers do: each acquire is timed from when
 * it was due, so that one that waits behind a slow one counts as slow, too. Beside that stands how long one call has taken.
 */

import { connect, type Client } from '@holdfast/client';

import { Latencies } from '../generator/latencies.ts';

const SESSIONS = 8;
/** Between two acquires of one session. */
const INTERVAL_MS = 25;
const PAUSED_LOOK_MS = 10;

export interface AcquireTimes {
  readonly seconds: number;
  readonly acquires: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /** The slowest call, an acquire or a release, from when it was made. */
  readonly worstCallMs: number;
}

export class PacedAcquires {
  readonly #clients: readonly Client[];
  readonly #latencies = new Latencies();
  readonly #loops: Promise<unknown>;
  #acquires = 0;
  #worstCallMs = 0;
  #since = performance.now();
  #running = true;
  #paused = true;
  #failure: { readonly error: unknown } | undefined;

  private constructor(clients: readonly Client[]) {
    this.#clients = clients;
    const loops = clients.map((client, n) =>
      this.#loop(client, n).catch((error: unknown) => {
        this.#failure ??= { error };
      }),
    );
    this.#loops = Promise.all(loops);
  }

  static async start(servers: readonly string[]): Promise<PacedAcquires> {
    return new PacedAcquires(await Promise.all(Array.from({ length: SESSIONS }, () => connect({ servers }))));
  }

  /** Until the next `begin`, while something else shall have the servers to itself. */
  pause(): void {
    this.#paused = true;
  }

  /** Forgets what was timed before; what was due while they paused is due no more. */
  begin(): void {
    this.#paused = false;
    this.#latencies.clear();
    this.#acquires = 0;
    this.#worstCallMs = 0;
    this.#since = performance.now();
  }

  /** Since the begin. @throws what an acquire or a release failed with */
  read(): AcquireTimes {
    this.check();
    return {
      seconds: (performance.now() - this.#since) / 1_000,
      acquires: this.#acquires,
      p50Ms: this.#latencies.percentile(0.5) ?? NaN,
      p99Ms: this.#latencies.percentile(0.99) ?? NaN,
      worstMs: this.#latencies.percentile(1) ?? NaN,
      worstCallMs: this.#worstCallMs,
    };
  }

  /** @throws what an acquire or a release failed with */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#loops;
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  async #loop(client: Client, n: number): Promise<void> {
    const lock = client.lock(`bench/paced-${n}`);
    let dueAt = performance.now() + (n * INTERVAL_MS) / SESSIONS;
    while (this.#running) {
      if (this.#paused) {
        await new Promise((resolve) => setTimeout(resolve, PAUSED_LOOK_MS));
        dueAt = performance.now();
        continue;
      }
      const waitMs = dueAt - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      // A timer that is late by itself is not the servers' doing.
      const begunAt = waitMs > 0 ? performance.now() : dueAt;
      const held = await this.#timed(lock.acquire());
      this.#latencies.add(performance.now() - begunAt);
      this.#acquires += 1;
      await this.#timed(held.release());
      dueAt += INTERVAL_MS;
    }
  }

  async #timed<T>(call: Promise<T>): Promise<T> {
    const calledAt = performance.now();
    const answer = await call;
    this.#worstCallMs = Math.max(this.#worstCallMs, performance.now() - calledAt);
    return answer;
  }
}
