/**
 * Clients that take a lock of their own and give it back, again and again, and know the longest time that they went without. Through
 * our SDK; `native/` has the same through the other systems' own clients.
 */

import { setTimeout as pause } from 'node:timers/promises';

import { connect, type Client } from '@holdfast/client';

/** Between two cycles of a client: outages are measured and not load. */
const REST_MS = 20;
/** After a call that failed. */
const RETRY_MS = 10;

export interface OutageOptions {
  readonly servers: readonly string[];
  readonly sessions: number;
  readonly sessionTimeoutMs: number;
  readonly prefix: string;
}

/** What is known of each client since `mark`. */
export interface Outages {
  /** The longest time in milliseconds without a cycle that ended, that under way included. */
  readonly longestMs: readonly number[];
  /** Clients that have ended a cycle which began after `renew`. */
  readonly served: number;
  /** Sessions that were lost and made anew. */
  readonly sessionsLost: number;
}

class OutageClient {
  readonly #options: OutageOptions;
  readonly #lock: string;
  #lastAt = performance.now();
  #longestMs = 0;
  served = false;
  sessionsLost = 0;
  #renewals = 0;
  #running = true;

  constructor(options: OutageOptions, n: number) {
    this.#options = options;
    this.#lock = `${options.prefix}-lock-${n}`;
  }

  async run(opened: () => void): Promise<void> {
    let client = await this.#open();
    opened();
    while (this.#running) {
      const renewals = this.#renewals;
      try {
        const held = await client.lock(this.#lock).acquire();
        await held.release();
        this.#ended(renewals);
      } catch {
        if (client.state === 'expired' || client.state === 'closed') {
          this.sessionsLost += 1;
          client = await this.#open();
        } else await pause(RETRY_MS);
      }
      await pause(REST_MS);
    }
    await client.close();
  }

  mark(): void {
    this.#lastAt = performance.now();
    this.#longestMs = 0;
    this.sessionsLost = 0;
    this.renew();
  }

  renew(): void {
    this.#renewals += 1;
    this.served = false;
  }

  longestMs(): number {
    return Math.max(this.#longestMs, performance.now() - this.#lastAt);
  }

  stop(): void {
    this.#running = false;
  }

  #ended(renewals: number): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lastAt);
    this.#lastAt = now;
    if (renewals === this.#renewals) this.served = true;
  }

  async #open(): Promise<Client> {
    const { servers, sessionTimeoutMs } = this.#options;
    while (true) {
      try {
        return await connect({ servers: [...servers], sessionTimeoutMs });
      } catch {
        await pause(RETRY_MS);
      }
    }
  }
}

export class OutageClients {
  readonly #clients: readonly OutageClient[];
  readonly #runs: Promise<void>[];

  private constructor(clients: readonly OutageClient[], runs: Promise<void>[]) {
    this.#clients = clients;
    this.#runs = runs;
  }

  /** Resolves when all have a session. */
  static async start(options: OutageOptions): Promise<OutageClients> {
    const clients = Array.from({ length: options.sessions }, (_, n) => new OutageClient(options, n));
    const runs: Promise<void>[] = [];
    await Promise.all(
      clients.map((client) => new Promise<void>((opened, failed) => runs.push(client.run(opened).catch(failed)))),
    );
    return new OutageClients(clients, runs);
  }

  /** From here on. */
  mark(): void {
    for (const client of this.#clients) client.mark();
  }

  /** From here on cycles count for `served`. */
  renew(): void {
    for (const client of this.#clients) client.renew();
  }

  report(): Outages {
    return {
      longestMs: this.#clients.map((client) => Math.round(client.longestMs())),
      served: this.#clients.filter(({ served }) => served).length,
      sessionsLost: this.#clients.reduce((sum, { sessionsLost }) => sum + sessionsLost, 0),
    };
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.stop();
    await Promise.all(this.#runs);
  }
}
