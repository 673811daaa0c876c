/** An item of a queue in the hands of a consumer: its own until it is done or given back, or its session has ended. */

import { LockLostError, NotFoundError, SessionExpiredError, TransactionFailedError } from '../errors.ts';
import type { Incarnation } from '../incarnations/incarnation.ts';
import { SessionGuard } from './session-guard.ts';

export interface ItemContent {
  readonly id: string;
  readonly data: Uint8Array;
  readonly token: number;
}

/**
 * An item that this consumer has, until it is done, given back, or its session ends.
 *
 * @example
 * for await (const item of client.queue('mails').consume()) {
 *   await store.put('mail', item.data, { token: item.token });
 *   await item.done();
 * }
 */
export class QueueItem implements AsyncDisposable {
  readonly id: string;
  readonly data: Uint8Array;
  /** Higher than that of whoever had the item before: what is given to a fenced resource. */
  readonly token: number;
  readonly #guard: SessionGuard;
  readonly #settle: (done: boolean) => Promise<unknown>;

  /** @internal `settle` removes the item with its claim, or the claim alone. */
  constructor(
    { id, data, token }: ItemContent,
    deps: {
      readonly queue: string;
      readonly incarnation: Incarnation;
      readonly settle: (done: boolean) => Promise<unknown>;
    },
  ) {
    this.id = id;
    this.data = data;
    this.token = token;
    this.#settle = deps.settle;
    // If the ensemble still knows the session, others must not wait for its end.
    this.#guard = new SessionGuard(`item ${id} of queue ${deps.queue}`, deps.incarnation, () => {
      this.#settle(false).catch(() => undefined);
    });
  }

  /** Aborts when the item is not this consumer's any more: lost, done, or given back. */
  get signal(): AbortSignal {
    return this.#guard.signal;
  }

  /** @throws LockLostError when the item may be another consumer's by now */
  assertHeld(): void {
    this.#guard.assertHeld();
  }

  remainingMs(): number {
    return this.#guard.remainingMs();
  }

  /**
   * Takes the item off the queue for good. Rejects with LockLostError when it was lost before: another consumer may have it, or be done with
   * it. With TimeoutError nothing is known; the item comes again unless it was done.
   */
  async done(): Promise<void> {
    this.#guard.assertHeld();
    const settled = this.#settle(true);
    try {
      await settled;
    } catch (error) {
      const gone = error instanceof TransactionFailedError || error instanceof NotFoundError;
      if (gone) this.#guard.end('revoked');
      if (!gone && !(error instanceof SessionExpiredError)) throw error;
      throw this.#guard.loss ?? new LockLostError(`item ${this.id}`, 'expired', { cause: error });
    }
    this.#guard.end('released');
  }

  /** Leaves it to the next consumer, at its place in the queue. Without effect once it is done or lost. Never rejects. */
  async giveBack(): Promise<void> {
    if (this.#guard.loss !== undefined) return;
    this.#guard.end('released');
    await this.#settle(false).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.giveBack();
  }
}
