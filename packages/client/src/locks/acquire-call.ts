/**
 * One acquire from the call to its one outcome. When the caller gives up, its promise settles at once, and what the ensemble has or
 * will have of the acquire is cancelled in the background: there is never a waiter or a hold that nobody owns.
 */

import type { Holder, Reply } from '@holdfast/protocol';
import { AcquireLimitError, DeadlockError, LockLostError, type HoldfastError } from '../errors.ts';
import { errorFromServer } from '../server-error.ts';
import { Call, type CallLimits, type Channel, type ErrorAnswer, type Unanswered } from '../session/call.ts';
import type { EncodedCommand, RequestCall } from '../session/channels/request-pipeline.ts';
import type { HeldLock } from './held-lock.ts';
import { HoldNews } from './held/hold-news.ts';
import { locksText, type LockWait } from './waits/lock-wait.ts';
import type { ReleaseRequested } from './held/release-requested.ts';
import type { WaitLook, WaitLooks } from './waits/wait-looks.ts';
import { describeWanted, type Wanted } from './wanted.ts';

export type AcquireOutcome =
  | { readonly type: 'held'; readonly held: HeldLock }
  /**
   * It is not free, and the acquire was not to wait. The holder's token is 0 where that waits for another lock, too, and is before this acquire;
   * its session is 0 where the lock is delayed.
   */
  | { readonly type: 'lockHeld'; readonly holder: Holder }
  /** `wait`: what it waited for; undefined where that was not known in time. */
  | (Extract<Unanswered, { type: 'timeout' }> & { readonly wait: LockWait | undefined })
  | Exclude<Unanswered, { type: 'timeout' }>;

/** What an acquire asks of its client's table of waits and holds. */
export interface AcquireKeeper {
  /** It waits at the ensemble. */
  waiting(call: AcquireCall): void;
  /** It was granted: hands the hold out by `grant`, as soon as the lease allows it. */
  granted(call: AcquireCall): void;
  /** Nobody wants it any more: ends the wait, or the hold that it has become. */
  cancel(call: AcquireCall): void;
}

export interface AcquireRequest extends CallLimits {
  readonly wanted: Wanted;
  /** The acquire itself, as {@link Wanted} is asked for. */
  readonly asked: EncodedCommand;
  /** Is told what it waits for. */
  readonly onWait: ((wait: LockWait) => void) | undefined;
  readonly follower: AcquireFollower | undefined;
}

/** Follows an acquire beside the one who gets its outcome. */
export interface AcquireFollower {
  /** It is about to ask; again in the next session where the first has expired. */
  begins(call: Pick<AcquireCall, 'giveUp'>): void;
  /** It waits at the ensemble, where `look` looks at it. */
  waits(look: WaitLook): void;
}

/** Whose acquires they are. */
export interface AcquireDeps {
  readonly channel: Channel<RequestCall>;
  readonly keeper: AcquireKeeper;
  readonly looks: WaitLooks;
}

export class AcquireCall extends Call<EncodedCommand, Reply> {
  readonly wanted: Wanted;
  readonly onWait: ((wait: LockWait) => void) | undefined;
  /** 0 until the ensemble has answered. */
  acquireIndex = 0;
  /** 0 until it was granted. */
  token = 0;
  readonly news: HoldNews;
  /** What was asked of the hold before it was handed out. */
  releaseRequest: ReleaseRequested | undefined;
  readonly #follower: AcquireFollower | undefined;
  readonly #deps: AcquireDeps;
  readonly #outcome: (outcome: AcquireOutcome) => void;
  /** While it waits at the ensemble. */
  #look: WaitLook | undefined;

  /** `outcome` is called once. */
  constructor(request: AcquireRequest, deps: AcquireDeps, outcome: (outcome: AcquireOutcome) => void) {
    const { wanted, asked } = request;
    super(deps.channel, asked, request);
    this.wanted = wanted;
    this.news = new HoldNews(wanted);
    this.onWait = request.onWait;
    this.#follower = request.follower;
    this.#deps = deps;
    this.#outcome = outcome;
  }

  answered(reply: Reply): void {
    switch (reply.type) {
      case 'acquire':
        this.acquireIndex = reply.acquireIndex;
        this.token = reply.token;
        if (reply.token !== 0) this.news.granted(reply.token, reply.floor);
        if (this.settled) this.#deps.keeper.cancel(this);
        else if (reply.token === 0) this.#wait();
        else this.#deps.keeper.granted(this);
        return;
      case 'lockHeld':
        this.#settleWith({ type: 'lockHeld', holder: reply.holder });
        return;
      case 'deadlock':
        this.failed(new DeadlockError(this.wanted.locks, reply.steps));
        return;
      case 'error':
        this.failed(this.#errorFrom(reply));
        return;
      case 'done':
      case 'created':
      case 'changed':
      case 'cancelled':
      case 'attached':
      case 'transaction':
      case 'transactionFailed':
      case 'revoked':
        this.failed(errorFromServer('UNSUPPORTED', `acquire was answered with ${reply.type}`));
    }
  }

  /** False when the caller has given up: then the hold is nobody's. */
  handOut(held: HeldLock): boolean {
    return this.#settleWith({ type: 'held', held });
  }

  protected unanswered(how: Unanswered): void {
    this.#outcome(how.type === 'timeout' ? { ...how, wait: this.#look?.lastOf(this) } : how);
  }

  protected override settle(): boolean {
    const first = super.settle();
    if (first) this.#look?.end();
    return first;
  }

  protected override withdraw(): boolean {
    // Sent and not answered: `answered` will cancel it.
    if (this.acquireIndex !== 0) this.#deps.keeper.cancel(this);
    return this.acquireIndex !== 0 || super.withdraw();
  }

  #wait(): void {
    this.#deps.keeper.waiting(this);
    if (this.settled) return;
    this.#look = this.#deps.looks.begin(this);
    this.#follower?.waits(this.#look);
  }

  #settleWith(outcome: AcquireOutcome): boolean {
    if (!this.settle()) return false;
    this.#outcome(outcome);
    return true;
  }

  /** What to do where the servers do not all know what was asked for. */
  #lacking(message: string): string {
    const { what, since } = describeWanted(this.wanted);
    const advice = `upgrade all servers, and wait half a minute until they have agreed on state version ${since}`;
    return `this ensemble has no ${what} yet; ${advice} (${message})`;
  }

  #errorFrom(reply: ErrorAnswer): HoldfastError {
    const { locks } = this.wanted;
    if (reply.code === 'NOT_HELD') return new LockLostError(locks, 'revoked');
    const what = locks.length === 1 ? `acquire "${this.wanted.lock}"` : `acquire ${locksText(locks)} at once`;
    const text = `${what}: ${reply.code === 'UNSUPPORTED' ? this.#lacking(reply.message) : reply.message}`;
    return reply.code === 'LIMIT_EXCEEDED' ? new AcquireLimitError(text) : errorFromServer(reply.code, text);
  }
}
