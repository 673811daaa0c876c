/** What an application does all day: it waits for a lock that others want too, reads and writes under it, and gives it back. */

import type { Client } from '@holdfast/client';
import { expect } from 'vitest';

export class Application {
  error: unknown;
  cycles = 0;
  #running = true;
  readonly #client: Client;
  readonly #done: Promise<unknown>;

  constructor(client: Client, number: number) {
    this.#client = client;
    this.#done = this.#work(number).catch((error: unknown) => {
      this.error = error;
    });
  }

  /** Resolves when it has done something that it began after this call, or has failed. */
  async progress(): Promise<void> {
    const before = this.cycles;
    await expect
      .poll(() => this.error !== undefined || this.cycles > before + 1, { timeout: 20_000, interval: 10 })
      .toBe(true);
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  async #work(number: number): Promise<void> {
    const path = `/rolling/${number}`;
    await this.#client.nodes.create(path, '0');
    const shared = this.#client.lock('shared');
    const own = this.#client.lock(`own-${number}`);
    await own.withLock(async () => {
      while (this.#running) {
        const held = await shared.acquire();
        const { data, stat } = await this.#client.nodes.get(path);
        if (Number(Buffer.from(data).toString()) !== this.cycles)
          throw new Error(`read ${data.toString()}, wrote ${this.cycles}`);
        await this.#client.nodes.set(path, String(this.cycles + 1), { version: stat.version });
        held.assertHeld();
        await held.release();
        this.cycles += 1;
      }
    });
  }
}
