/** Sessions at work: each holds a lock of its own, waits for one that all want, and reads and writes under it. */

import type { Client } from '@holdfast/client';
import { until } from './lockd-process.ts';

export class Load {
  /** Of the lock that all want, in the order of the grants. */
  readonly tokens: number[] = [];
  readonly errors: unknown[] = [];
  readonly #written: number[];
  readonly #done: Promise<unknown>;
  #running = true;

  private constructor(clients: readonly Client[]) {
    this.#written = clients.map(() => 0);
    const working = clients.map((client, n) =>
      this.#work(client, n).catch((error: unknown) => this.errors.push(error)),
    );
    this.#done = Promise.all(working);
  }

  static async on(clients: readonly Client[]): Promise<Load> {
    await clients[0]?.nodes.create('/load');
    return new Load(clients);
  }

  /** Resolves when every client has done something that it began after this call, or one has failed. */
  async progress(): Promise<void> {
    const before = [...this.#written];
    await until(() => this.errors.length > 0 || this.#written.every((written, n) => written > (before[n] ?? 0) + 1));
  }

  /** What must be readable now: the number of writes of each client, by path. */
  get written(): ReadonlyMap<string, number> {
    return new Map(this.#written.map((written, n) => [`/load/${n}`, written]));
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  async #work(client: Client, n: number): Promise<void> {
    const path = `/load/${n}`;
    await client.nodes.create(path, '0');
    await client.lock(`own-${n}`).withLock(async (own) => {
      while (this.#running) {
        const held = await client.lock('shared').acquire();
        this.tokens.push(held.token);
        const { data, stat } = await client.nodes.get(path);
        const read = Number(Buffer.from(data).toString());
        if (read !== this.#written[n]) throw new Error(`${path} is ${read}, not ${this.#written[n] ?? '?'}`);
        await client.nodes.set(path, String(read + 1), { version: stat.version });
        this.#written[n] = read + 1;
        held.assertHeld();
        own.assertHeld();
        await held.release();
      }
    });
  }
}
