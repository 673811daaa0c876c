/**
 * What only the latest state version has: refused by an error that says what to do, all of it and without effect, until every server knows
 * it; and done from then on.
 */

import { HoldfastError, type Client, type HeldLock } from '@holdfast/client';
import { expect } from 'vitest';
import type { Clients } from './clients.ts';
import type { Work } from './work.ts';

const PERMITS = 2;
const LOCKS = { readWrite: 'upgrade/read-write', semaphore: 'upgrade/semaphore', reentrant: 'upgrade/reentrant' };

export class UsingTheLatestVersion implements Work {
  readonly name = 'what only the latest state version has';
  #client!: Client;
  #other!: Client;
  /** Held throughout, from when they were granted first. */
  readonly #held: HeldLock[] = [];
  /** Rounds. */
  refused = 0;
  done = 0;

  async begin(clients: Clients): Promise<void> {
    this.#client = (await clients.open('uses the latest version')).client;
    this.#other = (await clients.open('shares what that holds')).client;
  }

  async round(): Promise<void> {
    const before = this.done;
    const first = await this.#tried(() => this.#client.readWriteLock(LOCKS.readWrite).read().acquire());
    if (first === undefined) {
      this.refused += 1;
      return;
    }
    await this.#sharing(first);
    await this.#permits();
    await this.#entries();
    this.done = before + 1;
    await this.check();
  }

  /** What was granted first is held still, under the same token. */
  async check(): Promise<void> {
    for (const held of this.#held) await held.verify();
  }

  async #sharing(first: HeldLock): Promise<void> {
    const lock = this.#other.readWriteLock(LOCKS.readWrite);
    const second = await lock.read().acquire();
    expect(second.token, 'the token of a reader that comes later').toBeGreaterThan(first.token);
    expect(second.floor, 'the floor of two readers').toBeLessThanOrEqual(first.token);
    const writing = await lock.write().tryAcquire();
    expect(writing.acquired, 'to write beside readers').toBe(false);
    await second.release();
    await this.#keep(first);
  }

  async #permits(): Promise<void> {
    const held = await this.#client.semaphore(LOCKS.semaphore, { permits: PERMITS }).tryAcquire();
    if (!held.acquired) throw new Error('no permit is free');
    await this.#keep(held.held);
    const all = await this.#other.semaphore(LOCKS.semaphore, { permits: PERMITS }).tryAcquire({ permits: PERMITS });
    expect(all.acquired, 'all permits beside one that is out').toBe(false);
  }

  async #entries(): Promise<void> {
    const lock = this.#client.lock(LOCKS.reentrant, { reentrant: true });
    const outer = await lock.acquire();
    const inner = await lock.acquire();
    expect(inner.token, 'the token of the second entry').toBe(outer.token);
    await inner.release();
    expect(await lock.count(), 'what is left').toEqual({ entries: 1, token: outer.token, mine: true });
    await outer.release();
  }

  /** The first of each lock, for as long as the upgrade lasts. */
  async #keep(held: HeldLock): Promise<void> {
    if (this.#held.some(({ lock }) => lock === held.lock)) await held.release();
    else this.#held.push(held);
  }

  /** Undefined when it is refused for the version; it was not before then. */
  async #tried<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'UNSUPPORTED') throw error;
      expect(error.message, 'what to do').toMatch(/upgrade all its servers, then try again/);
      expect(this.done, 'rounds that were done before one was refused').toBe(0);
      return undefined;
    }
  }
}
