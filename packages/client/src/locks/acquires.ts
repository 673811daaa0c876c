/**
 * The waits and holds of one client, by acquire index: the ensemble's name for each. Brings every grant to its caller only under a
 * lease that still runs, ends all holds when it has run out, and gives back what nobody owns.
 */

import type { Acquire, Command, DeadlockStep, EndReason, LossReason, ServerMessage } from '@holdfast/protocol';
import { ClientClosedError, DeadlockError, LockLostError, SessionExpiredError, type HoldfastError } from '../errors.ts';
import { invariant } from '../invariant.ts';
import { LazyTimer } from '../lazy-timer.ts';
import type { CallOptions } from '../session/call.ts';
import { callQuery } from '../session/channels/read-pipeline.ts';
import { callCommand } from '../session/channels/request-pipeline.ts';
import type { Session } from '../session/session.ts';
import { SmallMap } from '../session/small-map.ts';
import {
  AcquireCall,
  type AcquireDeps,
  type AcquireKeeper,
  type AcquireOutcome,
  type AcquireRequest,
} from './acquire-call.ts';
import { HeldLock, type HoldKeeper } from './held-lock.ts';
import type { HoldNews } from './held/hold-news.ts';
import { callText, ReleaseCall, type ReleaseFailed } from './release-call.ts';
import { requestedFrom } from './held/release-requested.ts';
import { WaitLooks, type WaitLooksOptions } from './waits/wait-looks.ts';

/** The lease is looked at so often while there are holds, since the wall clock may jump or the machine may have slept. */
const LEASE_CHECK_MS = 1_000;

/** What a session had of locks when it ended, in no order. */
export interface LostAcquires {
  /** One entry a lock. Also those that were lost when the lease had run out, since the session was not renewed after that. */
  readonly holds: readonly { readonly lock: string; readonly token: number }[];
  /** The locks for which it waited, one entry for each lock of a wait. */
  readonly waits: readonly string[];
}

/** A release was not confirmed in time, and goes on in the background. */
type Unconfirmed = (held: HeldLock, error: unknown) => void;

export class Acquires implements AcquireKeeper, HoldKeeper {
  readonly #session: Session;
  readonly #waiting = new SmallMap<number, AcquireCall>();
  readonly #held = new SmallMap<number, HeldLock>();
  /** Granted under a lease that had run out here; the next renewal proves that the session lives, and they are handed out. */
  readonly #unconfirmed = new SmallMap<number, AcquireCall>();
  /** Lost when the lease had run out; the next renewal proves that the session lives, and they are forgotten. */
  #lapsed: readonly HeldLock[] = [];
  readonly #unconfirmedRelease: Unconfirmed;
  readonly #looks: WaitLooks;
  readonly #acquireDeps: AcquireDeps;
  readonly #leaseTimer: LazyTimer;
  /** What waits fail with from now on; they need no cancel, since the end of the session takes them away. */
  #closed: HoldfastError | undefined;

  constructor(session: Session, unconfirmed: Unconfirmed, looks: WaitLooksOptions) {
    this.#session = session;
    this.#looks = new WaitLooks(session, looks, () => this.holds);
    this.#acquireDeps = { channel: session.commands, keeper: this, looks: this.#looks };
    this.#unconfirmedRelease = unconfirmed;
    this.#leaseTimer = new LazyTimer(session.clock, () => this.#watchLease());
  }

  get waits(): number {
    return this.#waiting.size + this.#unconfirmed.size;
  }

  get holds(): number {
    return this.#held.size;
  }

  /** `outcome` is called once. */
  acquire(request: AcquireRequest, outcome: (outcome: AcquireOutcome) => void): void {
    const call = new AcquireCall(request, this.#acquireDeps, outcome);
    request.follower?.begins(call);
    call.start();
  }

  waiting(call: AcquireCall): void {
    if (this.#closed !== undefined) call.failed(this.#closed);
    else putNew(this.#waiting, call.acquireIndex, call);
  }

  granted(call: AcquireCall): void {
    this.#waiting.delete(call.acquireIndex);
    if (this.#closed !== undefined) call.failed(this.#closed);
    else if (this.remainingMs() > 0) this.#handOut(call);
    else putNew(this.#unconfirmed, call.acquireIndex, call);
  }

  cancel(call: AcquireCall): void {
    this.#waiting.delete(call.acquireIndex);
    this.#unconfirmed.delete(call.acquireIndex);
    this.#giveBack({ type: 'cancel', lock: call.wanted.lock, acquireIndex: call.acquireIndex });
  }

  remainingMs(): number {
    return this.#session.lease.remainingMs();
  }

  lapsed(): void {
    this.#leaseTimer.stop();
    const held = [...this.#held.values()];
    this.#held.clear();
    this.#lapsed = held;
    if (held.length > 0) {
      this.#session.logger.warn(
        { sessionId: this.#session.id, holds: held.length },
        'the lease ran out: all holds are lost',
      );
    }
    for (const hold of held) {
      hold.markLost('expired');
      // If the ensemble still knows the session, the next in line must not wait for its end.
      this.#giveBack({ type: 'release', lock: hold.lock, acquireIndex: hold.acquireIndex });
    }
  }

  release(held: HeldLock): Promise<void> {
    this.#held.delete(held.acquireIndex);
    held.markLost('released');
    return new Promise((resolve, reject) => {
      new ReleaseCall(this.#session.releases, held, { resolve, reject }, this.#releaseFailed).start();
    });
  }

  async downgrade(held: HeldLock, options: CallOptions): Promise<void> {
    const { lock, acquireIndex } = held;
    const command = { type: 'downgrade', lock, acquireIndex } as const;
    try {
      // It gives something back: it is sent although nobody waits for the answer any more.
      await callCommand(this.#session.releases, command, callText('downgrade', held), options);
    } catch (error) {
      const loss = lossFrom(error, held);
      if (loss === undefined) throw error;
      if (loss.reason === 'revoked') this.lostByEnsemble(acquireIndex, 'revoked');
      throw held.loss ?? loss;
    }
  }

  async verify(held: HeldLock, options: CallOptions): Promise<void> {
    const { lock, acquireIndex } = held;
    try {
      const query = { type: 'verify', lock, acquireIndex } as const;
      const answer = await callQuery(this.#session.reads, query, callText('verify', held), options);
      if (answer.type !== 'verify' || answer.token !== held.token) this.lostByEnsemble(acquireIndex, 'revoked');
    } catch (error) {
      throw held.loss ?? error;
    }
  }

  grantedByEnsemble(acquireIndex: number, token: number, floor?: number): void {
    const call = this.#waiting.get(acquireIndex);
    if (call === undefined) return;
    call.token = token;
    call.news.granted(token, floor);
    this.granted(call);
  }

  floorRaised(acquireIndex: number, lock: string, floor: number): void {
    this.#newsOf(acquireIndex)?.floorRaised(lock, floor);
  }

  othersWait(acquireIndex: number): void {
    this.#newsOf(acquireIndex)?.othersWait();
  }

  /** `deadlock`: the one that a wait was ended to break. */
  lostByEnsemble(acquireIndex: number, reason: LossReason, deadlock: readonly DeadlockStep[] = []): void {
    const held = this.#held.get(acquireIndex);
    this.#held.delete(acquireIndex);
    // Only a wait ends by a deadlock: a hold was granted before the news came, and is gone all the same.
    const loss = reason === 'deadlock' ? 'revoked' : reason;
    held?.markLost(loss);
    const call = this.#waiting.get(acquireIndex) ?? this.#unconfirmed.get(acquireIndex);
    this.#waiting.delete(acquireIndex);
    this.#unconfirmed.delete(acquireIndex);
    if (call === undefined) return;
    const { locks } = call.wanted;
    call.failed(reason === 'deadlock' ? new DeadlockError(locks, deadlock) : new LockLostError(locks, loss));
  }

  /** Once more after each attach; the last one counts. */
  releaseRequested(request: Extract<ServerMessage, { readonly type: 'release-requested' }>): void {
    const { lock, acquireIndex, by, revokes } = request;
    const requested = requestedFrom(request, this.#session.clock);
    const held = this.#held.get(acquireIndex);
    const call = this.#unconfirmed.get(acquireIndex);
    if (call !== undefined) call.releaseRequest = requested;
    if (held === undefined) return;
    this.#session.logger.warn({ lock, token: held.token, by, revokes }, 'an operator asks for a lock to be released');
    held.requestRelease(requested);
  }

  /** `acquires` is all that the session has at the ensemble. */
  reconcile(acquires: readonly Acquire[]): void {
    const known = new Set(acquires.map((acquire) => acquire.acquireIndex));
    for (const table of [this.#held, this.#waiting, this.#unconfirmed]) {
      for (const { acquireIndex } of table.values()) {
        if (!known.has(acquireIndex)) this.lostByEnsemble(acquireIndex, 'revoked');
      }
    }
    for (const { acquireIndex, token } of acquires) {
      if (token !== 0) this.grantedByEnsemble(acquireIndex, token);
    }
  }

  renewed(): void {
    if (this.#lapsed.length > 0) this.#lapsed = [];
    if (this.#unconfirmed.size === 0 || this.remainingMs() <= 0) return;
    const calls = [...this.#unconfirmed.values()];
    this.#unconfirmed.clear();
    for (const call of calls) this.#handOut(call);
  }

  /** The session is over, or about to be: every hold is lost, and every wait fails with `error`, those still to be answered too. */
  ended(reason: EndReason, error: HoldfastError): LostAcquires {
    this.#closed ??= error;
    this.#leaseTimer.stop();
    const held = [...this.#held.values()];
    const lapsed = this.#lapsed;
    this.#lapsed = [];
    const calls = [...this.#waiting.values(), ...this.#unconfirmed.values()];
    this.#held.clear();
    this.#waiting.clear();
    this.#unconfirmed.clear();
    for (const hold of held) hold.markLost(reason);
    for (const call of calls) call.failed(error);
    const holds = [...lapsed, ...held].flatMap(({ locks, token }) => locks.map((lock) => ({ lock, token })));
    return { holds, waits: calls.flatMap(({ wanted }) => wanted.locks) };
  }

  readonly #releaseFailed: ReleaseFailed = (held, error) => {
    const loss = lossFrom(error, held);
    if (loss !== undefined) return loss;
    const { lock, token } = held;
    this.#session.logger.warn(
      { err: error, lock, token },
      'the release of a lock was not confirmed; it goes on in the background',
    );
    this.#unconfirmedRelease(held, error);
    return error;
  };

  /** Undefined for one that is over, or has not been heard of. */
  #newsOf(acquireIndex: number): HoldNews | undefined {
    const call = this.#waiting.get(acquireIndex) ?? this.#unconfirmed.get(acquireIndex);
    return (this.#held.get(acquireIndex) ?? call)?.news;
  }

  #handOut(call: AcquireCall): void {
    const held = new HeldLock(call.wanted, call.acquireIndex, call.token, this, call.news);
    if (!call.handOut(held)) {
      this.cancel(call);
      return;
    }
    putNew(this.#held, call.acquireIndex, held);
    if (call.releaseRequest !== undefined) held.requestRelease(call.releaseRequest);
    if (!this.#leaseTimer.armed) this.#armLeaseTimer();
  }

  #armLeaseTimer(): void {
    this.#leaseTimer.ensure(this.#session.clock.monotonicMs() + Math.min(this.remainingMs(), LEASE_CHECK_MS));
  }

  #watchLease(): void {
    if (this.#held.size === 0) return;
    if (this.remainingMs() <= 0) this.lapsed();
    else this.#armLeaseTimer();
  }

  #giveBack(command: Extract<Command, { readonly type: 'cancel' | 'release' }>): void {
    this.#session.sendInBackground(command);
  }
}

/** An acquire index is that of the log entry that asked, so that no two waits or holds have the same. */
function putNew<T extends object>(table: SmallMap<number, T>, acquireIndex: number, value: T): void {
  const before = table.size;
  table.set(acquireIndex, value);
  invariant(table.size > before, 'a-wait-or-hold-has-one-owner');
}

/** For a hold that was to be released, or changed, an ensemble that does not know it means that it was lost before. */
function lossFrom(error: unknown, { locks }: HeldLock): LockLostError | undefined {
  if (error instanceof SessionExpiredError) return new LockLostError(locks, 'expired', { cause: error });
  if (error instanceof ClientClosedError) return new LockLostError(locks, 'closed', { cause: error });
  const notHeld = error instanceof Error && 'code' in error && error.code === 'NOT_HELD';
  return notHeld ? new LockLostError(locks, 'revoked', { cause: error }) : undefined;
}
