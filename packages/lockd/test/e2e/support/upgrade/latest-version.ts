/**
 * What only the latest state version has: refused by an error that says what to do, all of it and without effect, until every server knows
 * it; and done from then on, under every server.
 */

import { HoldfastError, type Client, type HeldLock } from '@holdfast/client';
import { expect } from 'vitest';
import type { Clients } from './clients.ts';
import type { Work } from './work.ts';

const READ = 'upgrade-read';
const PERMITS = 'upgrade-permits';
const SEVERAL = ['upgrade-several-a', 'upgrade-several-b'];

export class UsingTheLatestVersion implements Work {
  readonly name = 'what only the latest state version has';
  #client!: Client;
  #other!: Client;
  /** Held to the end, from the first round on that was done. */
  #throughout: HeldLock | undefined;
  /** Rounds. */
  refused = 0;
  done = 0;

  async begin(clients: Clients): Promise<void> {
    this.#client = (await clients.open('uses the latest version')).client;
    this.#other = (await clients.open('looks at what that did')).client;
  }

  async round(): Promise<void> {
    const did = [
      await this.#tried(() => this.#readTogether()),
      await this.#tried(() => this.#takePermits()),
      await this.#tried(() => this.#takeSeveral()),
    ];
    const [read = false, permits = false, several = false] = did;
    // The version may have been raised between two of them, and is never taken back.
    const inOrder = (permits || !read) && (several || !permits);
    expect(inOrder, `read-write lock, semaphore and several: ${did.join(', ')}`).toBe(true);
    if (read) this.done += 1;
    else this.refused += 1;
    await this.#leavesNothing();
  }

  async check(): Promise<void> {
    const held = this.#throughout;
    expect(held, 'a lock that was held throughout').toBeDefined();
    await held?.verify();
    await held?.release();
    await this.#leavesNothing();
  }

  /** Two read, nobody writes; who wrote goes on reading. */
  async #readTogether(): Promise<void> {
    const [own, other] = [this.#client.readWriteLock(READ), this.#other.readWriteLock(READ)];
    this.#throughout ??= await this.#client.readWriteLock(`${READ}-throughout`).read().acquire();
    const writing = await own.write().acquire();
    await writing.downgrade();
    const reading = await other.read().acquire();
    expect(reading.token, 'the token of who came later').toBeGreaterThan(writing.token);
    expect((await other.write().tryAcquire()).acquired, 'written beside readers').toBe(false);
    for (const held of [writing, reading]) await held.release();
  }

  async #takePermits(): Promise<void> {
    const [own, other] = [this.#client, this.#other].map((client) => client.semaphore(PERMITS, { permits: 3 }));
    const held = await own?.acquire({ permits: 2 });
    expect((await other?.tryAcquire({ permits: 2 }))?.acquired, 'more permits than there are').toBe(false);
    const last = await other?.acquire();
    for (const each of [held, last]) await each?.release();
  }

  async #takeSeveral(): Promise<void> {
    const held = await this.#client.locks(SEVERAL).acquire();
    for (const lock of SEVERAL) expect((await this.#other.lock(lock).tryAcquire()).acquired, lock).toBe(false);
    await held.release();
  }

  async #leavesNothing(): Promise<void> {
    for (const lock of [READ, PERMITS, ...SEVERAL]) {
      const { holders, waiters } = await this.#other.admin.lock(lock);
      expect([holders, waiters], `who has ${lock}, and who waits`).toEqual([[], []]);
    }
  }

  /** False when it is refused for the version; it was not before then. */
  async #tried(use: () => Promise<void>): Promise<boolean> {
    try {
      await use();
      return true;
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'UNSUPPORTED') throw error;
      expect(error.message, 'what to do').toMatch(/upgrade all its servers, then try again/);
      expect(this.done, 'rounds that were done before one was refused').toBe(0);
      return false;
    }
  }
}
