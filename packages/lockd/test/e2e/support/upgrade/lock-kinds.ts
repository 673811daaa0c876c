/** Read-write locks, semaphores and several locks at once: the version before has them, too, and they are the same under both. */

import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastError, type Client, type HeldLock } from '@holdfast/client';
import { expect } from 'vitest';
import type { Clients } from './clients.ts';
import type { Work } from './work.ts';

const READ = 'upgrade-read';
const PERMITS = 'upgrade-permits';
const AGREEMENT_TRIES = 150;
const AGREEMENT_TRY_MS = 100;
const SEVERAL = ['upgrade-several-a', 'upgrade-several-b'];

export class UsingLocksOfAllKinds implements Work {
  readonly name = 'locks of all kinds';
  #client!: Client;
  #other!: Client;
  /** Held to the end. */
  #throughout!: HeldLock;

  async begin(clients: Clients): Promise<void> {
    this.#client = (await clients.open('uses locks of all kinds')).client;
    this.#other = (await clients.open('looks at locks of all kinds')).client;
    this.#throughout = await whenAgreed(() => this.#client.readWriteLock(`${READ}-throughout`).read().acquire());
  }

  async round(): Promise<void> {
    await this.#readTogether();
    await this.#takePermits();
    await this.#takeSeveral();
    await this.#leavesNothing();
  }

  async check(): Promise<void> {
    await this.#throughout.verify();
    await this.#throughout.release();
    await this.#leavesNothing();
  }

  /** Two read, nobody writes; who wrote goes on reading. */
  async #readTogether(): Promise<void> {
    const [own, other] = [this.#client.readWriteLock(READ), this.#other.readWriteLock(READ)];
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
}

/** A new ensemble goes over to the latest version of its servers within a second. */
async function whenAgreed<T>(use: () => Promise<T>): Promise<T> {
  for (let left = AGREEMENT_TRIES; ; left -= 1) {
    try {
      return await use();
    } catch (error) {
      if (left === 0 || !(error instanceof HoldfastError) || error.code !== 'UNSUPPORTED') throw error;
      await sleep(AGREEMENT_TRY_MS);
    }
  }
}
