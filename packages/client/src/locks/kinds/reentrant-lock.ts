/**
 * A lock that its owner may enter again while it holds it. The owner is this object: two of them exclude each other, also within one client.
 * Every entry has the token of the first, and is released by itself; the lock is free when all are.
 */

import type { LockRequest } from '@holdfast/protocol';
import { offAbort, onAbort } from '@holdfast/runtime';
import type { Present } from '../../incarnations/incarnation.ts';
import { callQuery } from '../../session/channels/read-pipeline.ts';
import { CALL_OPTIONS, type CallOptions } from '../../session/call.ts';
import { checkOptionNames } from '../../option-names.ts';
import type { Limited } from '../../session/time-limits.ts';
import type { AcquireOutcome, AcquireRequest } from '../acquire-call.ts';
import type { ReentrantHold } from '../holds/reentrant-hold.ts';
import { Lock } from '../lock.ts';

type ReentrantRequest = Extract<LockRequest, { readonly type: 'reentrant' }>;
type Asking = Omit<AcquireRequest, 'lock' | 'asked'>;

/**
 * How a reentrant lock is at one moment, linearizably.
 *
 * @example
 * const count: LockCount = await client.lock('accounts/42', { reentrant: true }).count();
 * show(`${count.entries} entries, ${count.mine ? 'mine' : 'of others'}`);
 */
export interface LockCount {
  /** How often its owner has entered and not left; 0 where nobody holds it. */
  readonly entries: number;
  /** Of the hold; 0 where nobody holds it. */
  readonly token: number;
  /** The owner is the lock object that was asked. */
  readonly mine: boolean;
}

/**
 * A lock whose owner, this object, may enter again while it holds. Made by `client.lock` with `reentrant`.
 *
 * @example
 * const account: ReentrantLock = client.lock('accounts/42', { reentrant: true });
 * await account.withLock(() => account.withLock(() => work()));
 */
export class ReentrantLock extends Lock<ReentrantHold> {
  readonly #request: ReentrantRequest;
  /** Settles when the last of this owner's acquires has its outcome: the next is then a re-entry, not a rival behind it in the queue. */
  #last: Promise<unknown> | undefined;

  /** @internal */
  constructor(name: string, request: ReentrantRequest, present: Present) {
    super(name, request, present);
    this.#request = request;
  }

  /** Asks the ensemble who holds the lock, and how often it was entered. */
  async count(options: CallOptions = {}): Promise<LockCount> {
    checkOptionNames('count', options, CALL_OPTIONS);
    const { session } = this.present();
    const query = { type: 'lock', lock: this.name } as const;
    const answer = await callQuery(session.reads, query, `count "${this.name}"`, options);
    const holder = answer.type === 'lock' ? answer.queue.find(({ token }) => token !== 0) : undefined;
    if (holder === undefined) return { entries: 0, token: 0, mine: false };
    const { entries = 1, token, parameters = [] } = holder;
    return { entries, token, mine: holder.session === session.id && parameters[0] === this.#request.owner };
  }

  /** @internal */
  protected override async ask(asking: Asking): Promise<AcquireOutcome> {
    // Whoever does not wait gets its answer at once, from a queue in which it stands nowhere.
    if (!asking.wait) return await super.ask(asking);
    while (this.#last !== undefined) {
      const early = await this.#otherwiseSettled(this.#last, asking);
      if (early !== undefined) return early;
    }
    const outcome = super.ask(asking);
    const over = (): void => {
      this.#last = undefined;
    };
    this.#last = outcome.then(over, over);
    return await outcome;
  }

  /** Undefined when `last` has settled in time. */
  #otherwiseSettled(last: Promise<unknown>, { expiresAtMs, signal }: Asking): Promise<AcquireOutcome | undefined> {
    const { limits } = this.present().session;
    return new Promise((resolve) => {
      const settle = (outcome?: AcquireOutcome): void => {
        limits.delete(limited);
        if (signal !== undefined) offAbort(signal, aborted);
        resolve(outcome);
      };
      const limited: Limited = {
        expiresAtMs,
        expire: () => settle({ type: 'timeout', sent: false, mayTakeEffect: false, wait: undefined }),
      };
      const aborted = (reason: unknown): void => settle({ type: 'aborted', reason });
      if (signal?.aborted === true) {
        resolve({ type: 'aborted', reason: signal.reason });
        return;
      }
      limits.add(limited);
      if (signal !== undefined) onAbort(signal, aborted);
      void last.then(() => settle());
    });
  }
}
