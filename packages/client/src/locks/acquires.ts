/**
 * The waits and holds of one client, by acquire index: the ensemble's name for each. Brings every grant to its caller only under a
 * lease that still runs, ends all holds when it has run out, and gives back what nobody owns.
 */

import type { Acquire, Command, LossReason } from '@holdfast/protocol';
import { ClientClosedError, LockLostError, SessionExpiredError, type HoldfastError } from '../errors.ts';
import { invariant } from '../invariant.ts';
import { LazyTimer } from '../lazy-timer.ts';
import type { CallOptions } from '../session/call.ts';
import { callQuery } from '../session/channels/read-pipeline.ts';
import { callCommand } from '../session/channels/request-pipeline.ts';
import type { Session } from '../session/session.ts';
import { AcquireCall, type AcquireKeeper, type AcquireOutcome, type AcquireRequest } from './acquire-call.ts';
import { HeldLock, type HoldKeeper } from './held-lock.ts';
import { WaitLooks, type WaitLooksOptions } from './wait-looks.ts';

/** The lease is looked at so often while there are holds, since the wall clock may jump or the machine may have slept. */
const LEASE_CHECK_MS = 1_000;

/** What a session had of locks when it ended, in no order. */
export interface LostAcquires {
  /** Also those that were lost when the lease had run out, since the session was not renewed after that. */
  readonly holds: readonly { readonly lock: string; readonly token: number }[];
  /** The locks for which it waited, one entry a wait. */
  readonly waits: readonly string[];
}

/** A release was not confirmed in time, and goes on in the background. */
type Unconfirmed = (lock: string, token: number, error: unknown) => void;

export class Acquires implements AcquireKeeper, HoldKeeper {
  readonly #session: Session;
  readonly #waiting = new Map<number, AcquireCall>();
  readonly #held = new Map<number, HeldLock>();
  /** Granted under a lease that had run out here; the next renewal proves that the session lives, and they are handed out. */
  readonly #unconfirmed = new Map<number, AcquireCall>();
  /** Lost when the lease had run out; the next renewal proves that the session lives, and they are forgotten. */
  #lapsed: readonly HeldLock[] = [];
  readonly #unconfirmedRelease: Unconfirmed;
  readonly #looks: WaitLooks;
  readonly #leaseTimer: LazyTimer;
  /** What waits fail with from now on; they need no cancel, since the end of the session takes them away. */
  #closed: HoldfastError | undefined;

  constructor(session: Session, unconfirmed: Unconfirmed, looks: WaitLooksOptions) {
    this.#session = session;
    this.#looks = new WaitLooks(session, looks);
    this.#unconfirmedRelease = unconfirmed;
    this.#leaseTimer = new LazyTimer(session.clock, () => this.#watchLease());
  }

  get waits(): number {
    return this.#waiting.size + this.#unconfirmed.size;
  }

  get holds(): number {
    return this.#held.size;
  }

  /** Never rejects. */
  acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    const { commands } = this.#session;
    return new Promise((resolve) =>
      new AcquireCall(request, { channel: commands, keeper: this, looks: this.#looks, outcome: resolve }).start(),
    );
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
    this.#giveBack({ type: 'cancel', lock: call.lock, acquireIndex: call.acquireIndex });
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

  async release(held: HeldLock): Promise<void> {
    this.#held.delete(held.acquireIndex);
    held.markLost('released');
    const { lock, acquireIndex } = held;
    try {
      await callCommand(this.#session.releases, { type: 'release', lock, acquireIndex }, `release "${lock}"`);
    } catch (error) {
      const loss = lossFrom(error, lock);
      if (loss !== undefined) throw loss;
      this.#session.logger.warn(
        { err: error, lock, token: held.token },
        'the release of a lock was not confirmed; it goes on in the background',
      );
      this.#unconfirmedRelease(lock, held.token, error);
      throw error;
    }
  }

  async verify(held: HeldLock, options: CallOptions): Promise<void> {
    const { lock, acquireIndex } = held;
    try {
      const query = { type: 'verify', lock, acquireIndex } as const;
      const answer = await callQuery(this.#session.reads, query, `verify "${lock}"`, options);
      if (answer.type !== 'verify' || answer.token !== held.token) this.lostByEnsemble(acquireIndex, 'revoked');
    } catch (error) {
      throw held.loss ?? error;
    }
  }

  grantedByEnsemble(acquireIndex: number, token: number): void {
    const call = this.#waiting.get(acquireIndex);
    if (call === undefined) return;
    call.token = token;
    this.granted(call);
  }

  lostByEnsemble(acquireIndex: number, reason: LossReason): void {
    const held = this.#held.get(acquireIndex);
    this.#held.delete(acquireIndex);
    held?.markLost(reason);
    const call = this.#waiting.get(acquireIndex) ?? this.#unconfirmed.get(acquireIndex);
    this.#waiting.delete(acquireIndex);
    this.#unconfirmed.delete(acquireIndex);
    call?.failed(new LockLostError(call.lock, reason));
  }

  /** `acquires` is all that the session has at the ensemble. */
  reconcile(acquires: readonly Acquire[]): void {
    const known = new Set(acquires.map((acquire) => acquire.acquireIndex));
    for (const table of [this.#held, this.#waiting, this.#unconfirmed]) {
      for (const acquireIndex of table.keys()) {
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
  ended(reason: LossReason, error: HoldfastError): LostAcquires {
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
    const holds = [...lapsed, ...held].map(({ lock, token }) => ({ lock, token }));
    return { holds, waits: calls.map(({ lock }) => lock) };
  }

  #handOut(call: AcquireCall): void {
    const held = new HeldLock(call.lock, call.acquireIndex, call.token, this);
    if (!call.handOut(held)) {
      this.cancel(call);
      return;
    }
    putNew(this.#held, call.acquireIndex, held);
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
function putNew<T>(table: Map<number, T>, acquireIndex: number, value: T): void {
  const before = table.size;
  table.set(acquireIndex, value);
  invariant(table.size > before, 'a-wait-or-hold-has-one-owner');
}

/** For a hold that was to be released, an ensemble that does not know it means that it was lost before. */
function lossFrom(error: unknown, lock: string): LockLostError | undefined {
  if (error instanceof SessionExpiredError) return new LockLostError(lock, 'expired', { cause: error });
  if (error instanceof ClientClosedError) return new LockLostError(lock, 'closed', { cause: error });
  const notHeld = error instanceof Error && 'code' in error && error.code === 'NOT_HELD';
  return notHeld ? new LockLostError(lock, 'revoked', { cause: error }) : undefined;
}
