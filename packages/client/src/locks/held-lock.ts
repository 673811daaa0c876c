/**
 * A hold: its token, and whether it still holds. Once lost it stays lost. That it is held is computed from the lease at the moment of
 * the question, so a late timer cannot make it lie; what only the fenced resource can know, it does not claim.
 */

import { holdEnded, type HoldMessage } from '../diagnostics/channels.ts';
import { LockLostError, type LockLossReason } from '../errors.ts';
import { invariant } from '../invariant.ts';
import { checkOptionNames } from '../option-names.ts';
import { CALL_OPTIONS, type CallOptions } from '../session/call.ts';
import { tokenText } from './token-text.ts';

/** What a hold asks of its client. */
export interface HoldKeeper {
  /** Of the session's lease. */
  remainingMs(): number;
  /** The lease has run out: every hold of the client is lost. */
  lapsed(): void;
  release(held: HeldLock): Promise<void>;
  /** Marks it lost when the ensemble does not know it. */
  verify(held: HeldLock, options: CallOptions): Promise<void>;
}

export class HeldLock implements AsyncDisposable {
  /** The lock's name. */
  readonly lock: string;
  /** The log index of the grant: greater than that of every earlier grant of this lock, and below 2^53. */
  readonly token: number;
  /** @internal The hold's name at the ensemble. */
  readonly acquireIndex: number;
  readonly #keeper: HoldKeeper;
  #lossReason: LockLossReason | undefined;
  #loss: LockLostError | undefined;
  #aborter: AbortController | undefined;
  #release: Promise<void> | undefined;
  /** Whoever listens hears of its end. */
  #diagnosed: HoldMessage | undefined;

  /** @internal */
  constructor(lock: string, acquireIndex: number, token: number, keeper: HoldKeeper) {
    invariant(token > 0, 'a-hold-has-a-token');
    this.lock = lock;
    this.acquireIndex = acquireIndex;
    this.token = token;
    this.#keeper = keeper;
  }

  /** The token as 16 digits, which sort as text. */
  get tokenText(): string {
    return tokenText(this.token);
  }

  /**
   * Aborts, with a LockLostError as its reason, when the hold is over: at the lease's deadline, on revocation, on `close`, on release.
   * By a timer: a busy event loop hears of it late. Code that does not yield asks `assertHeld`.
   */
  get signal(): AbortSignal {
    this.#aborter ??= new AbortController();
    if (this.#lossReason !== undefined && !this.#aborter.signal.aborted) this.#aborter.abort(this.loss);
    return this.#aborter.signal;
  }

  /** Why it is over; undefined while it is not known to be. */
  get loss(): LockLostError | undefined {
    // Made when asked for: every release is a loss, and an error's stack is dear.
    if (this.#lossReason !== undefined) this.#loss ??= new LockLostError(this.lock, this.#lossReason);
    return this.#loss;
  }

  /**
   * For how long nobody else can be granted the lock by this session's expiry, as far as this process's clocks know; 0 when that is
   * over. It grows again with every renewal.
   */
  remainingMs(): number {
    return this.#lossReason === undefined ? Math.max(0, this.#keeper.remainingMs()) : 0;
  }

  /** @throws LockLostError when the lock is not held any more, or the lease may be over. */
  assertHeld(): void {
    if (this.#lossReason === undefined && this.#keeper.remainingMs() <= 0) this.#keeper.lapsed();
    if (this.#lossReason !== undefined) throw this.loss;
  }

  /** Asks the ensemble, linearizably. Rejects with LockLostError when it does not know this hold. */
  async verify(options: CallOptions = {}): Promise<void> {
    checkOptionNames('verify', options, CALL_OPTIONS);
    this.assertHeld();
    await this.#keeper.verify(this, options);
    this.assertHeld();
  }

  /**
   * Gives the lock back. From this call on the handle says that it is lost, before the ensemble hears of it. Rejects with LockLostError
   * if it was lost before, and with TimeoutError if the answer does not come in time: it is given back all the same, in the background.
   * A second call returns the first one's promise.
   */
  release(): Promise<void> {
    this.#release ??= this.#giveBack();
    return this.#release;
  }

  /** Gives the lock back if it is still held. Never rejects, so that it masks no error of the block that it ends: ask `release` for those. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#lossReason !== undefined && this.#release === undefined) return;
    await this.release().catch(() => undefined);
  }

  /** @internal It has been published that it began. */
  diagnose(message: HoldMessage): void {
    this.#diagnosed = message;
    if (this.#lossReason !== undefined) holdEnded(message, this.#lossReason);
  }

  /** @internal */
  markLost(reason: LockLossReason): void {
    if (this.#lossReason !== undefined) return;
    this.#lossReason = reason;
    if (this.#diagnosed !== undefined) holdEnded(this.#diagnosed, reason);
    this.#aborter?.abort(this.loss);
  }

  async #giveBack(): Promise<void> {
    this.assertHeld();
    await this.#keeper.release(this);
  }
}
