/**
 * What only the latest state version has: refused by an error that says what to do, all of it and without effect, until every server knows
 * it; and done from then on, under every server.
 */

import { DeadlockError, HoldfastError, type Client, type HeldLock } from '@holdfast/client';
import { expect } from 'vitest';
import type { Clients } from './clients.ts';
import type { Work } from './work.ts';

const DELAYED = 'upgrade-delayed';
const CROSSED = ['upgrade-crossed-a', 'upgrade-crossed-b'] as const;
const DELAY_MS = 60_000;
/** To end a wait in a deadlock, and no wait else. */
const ABORTING = { deadlockPolicy: 'abort-youngest' } as const;

export class UsingTheLatestVersion implements Work {
  readonly name = 'what only the latest state version has';
  #client!: Client;
  #other!: Client;
  /** Held to the end, from the first round on that was done; asked for at once. */
  #throughout: HeldLock | undefined;
  /** Rounds. */
  refused = 0;
  done = 0;

  async begin(clients: Clients): Promise<void> {
    this.#client = (await clients.open('uses the latest version')).client;
    this.#other = (await clients.open('looks at what that did')).client;
  }

  async round(): Promise<void> {
    const did = [await this.#tried(() => this.#delay()), await this.#tried(() => this.#cross())];
    const [delayed = false, crossed = false] = did;
    // The version may have been raised between the two, and is never taken back.
    expect(crossed || !delayed, `a delay, and the end of a deadlock: ${did.join(', ')}`).toBe(true);
    if (delayed) this.done += 1;
    else this.refused += 1;
    await this.#leavesNothing();
  }

  async check(): Promise<void> {
    const held = this.#throughout;
    expect(held, 'a lock that was held throughout').toBeDefined();
    await held?.verify();
    const [holder] = (await this.#other.admin.lock(`${DELAYED}-throughout`)).holders;
    expect(holder?.releaseRequest, 'who has asked for the lock that was held throughout').toBeDefined();
    await held?.release();
    await this.#leavesNothing();
  }

  /** A lock is delayed when its holder has lost it, until an operator ends that. */
  async #delay(): Promise<void> {
    const lock = this.#client.lock(DELAYED, { lockDelayMs: DELAY_MS });
    const lost = await lock.acquire();
    this.#throughout ??= await this.#heldThroughout();
    const { admin } = this.#other;
    await admin.revoke(DELAYED, lost.token);
    expect((await this.#other.lock(DELAYED).tryAcquire()).acquired, 'granted while it is delayed').toBe(false);
    expect((await admin.lock(DELAYED)).delay, 'the delay').toMatchObject({ delayMs: DELAY_MS, token: lost.token });
    await admin.endLockDelay(DELAYED);
    const next = await this.#other.lock(DELAYED).acquire();
    expect(next.token, 'the token of who came later').toBeGreaterThan(lost.token);
    await next.release();
  }

  async #heldThroughout(): Promise<HeldLock> {
    const lock = `${DELAYED}-throughout`;
    const held = await this.#client.lock(lock, { lockDelayMs: DELAY_MS }).acquire();
    await this.#other.admin.requestRelease(lock, held.token, { withinMs: DELAY_MS, atDeadline: 'leave' });
    return held;
  }

  /** Of two who take two locks in opposite order, the one who waits last does not wait. */
  async #cross(): Promise<void> {
    const [a, b] = CROSSED;
    const holds = [await this.#client.lock(a).acquire(), await this.#other.lock(b).acquire()];
    const waits = [this.#client.lock(b, ABORTING).acquire(), this.#other.lock(a, ABORTING).acquire()];
    try {
      const ended: unknown = await Promise.race(waits).catch((error: unknown) => error);
      if (ended instanceof HoldfastError && ended.code === 'UNSUPPORTED') throw ended;
      expect(ended, 'what the first of two ended with who wait for each other').toBeInstanceOf(DeadlockError);
    } finally {
      for (const held of holds) await held[Symbol.asyncDispose]();
      for (const wait of await Promise.allSettled(waits)) if (wait.status === 'fulfilled') await wait.value.release();
    }
  }

  async #leavesNothing(): Promise<void> {
    for (const lock of [DELAYED, ...CROSSED]) {
      const { holders, waiters, delay } = await this.#other.admin.lock(lock);
      expect([holders, waiters, delay], `who has ${lock}, and who waits`).toEqual([[], [], undefined]);
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
