/**
 * A hold: its token, and whether it still holds. Once lost it stays lost. That it is held is computed from the lease at the moment of
 * the question, so a late timer cannot make it lie; what only the fenced resource can know, it does not claim.
 */

import { holdEnded, type HoldMessage } from '../diagnostics/channels.ts';
import { HoldfastError, InvalidArgumentError, LockLostError, type LockLossReason } from '../errors.ts';
import { invariant } from '../invariant.ts';
import { checkOptionNames } from '../option-names.ts';
import { checkDuration } from '../options.ts';
import { CALL_OPTIONS, type CallOptions } from '../session/call.ts';
import { HoldNews } from './held/hold-news.ts';
import { locksText } from './waits/lock-wait.ts';
import { requestError, type ReleaseRequested } from './held/release-requested.ts';
import { tokenText } from './token-text.ts';
import type { HoldMode, Wanted } from './wanted.ts';

/** What a hold asks of its client. */
export interface HoldKeeper {
  /** Of the session's lease. */
  remainingMs(): number;
  /** The lease has run out: every hold of the client is lost. */
  lapsed(): void;
  release(held: HeldLock): Promise<void>;
  /** Its owner has given it back after it was lost. Only where that counts. */
  releasedLost?(held: HeldLock): void;
  /** Marks it lost when the ensemble does not know it. */
  verify(held: HeldLock, options: CallOptions): Promise<void>;
  /** Marks it lost when the ensemble does not know it. Rejects with its loss then. */
  downgrade(held: HeldLock, options: CallOptions): Promise<void>;
}

export class HeldLock implements AsyncDisposable {
  /** The lock's name; of several that are held at once, the first one's. */
  readonly lock: string;
  /** The names of all locks that are held by it, in the order in which they were asked for: one, unless it is of `client.locks`. */
  readonly locks: readonly string[];
  /** How many permits it has of a semaphore; undefined for every other lock, and for several at once. */
  readonly permits: number | undefined;
  /**
   * The log index of the grant, below 2^53: greater than that of every earlier grant of this lock, but that those who are granted it together,
   * to read say, have the same. Of several locks it is the one token for all.
   */
  readonly token: number;
  /** @internal The hold's name at the ensemble. */
  readonly acquireIndex: number;
  /** @internal What the ensemble has told of it. */
  readonly news: HoldNews;
  readonly #keeper: HoldKeeper;
  #mode: HoldMode;
  #lossReason: LockLossReason | undefined;
  #loss: LockLostError | undefined;
  #aborter: AbortController | undefined;
  #releaseRequest: ReleaseRequested | undefined;
  #releaseAborter: AbortController | undefined;
  #releaseListener: ((request: ReleaseRequested) => void) | undefined;
  #lossListener: ((reason: LockLossReason) => void) | undefined;
  #release: Promise<void> | undefined;
  #downgrade: Promise<void> | undefined;
  /** Whoever listens hears of its end. */
  #diagnosed: HoldMessage | undefined;

  /** @internal */
  constructor(wanted: Wanted, acquireIndex: number, token: number, keeper: HoldKeeper, news = new HoldNews(wanted)) {
    invariant(token > 0, 'a-hold-has-a-token');
    this.news = news;
    this.lock = wanted.lock;
    this.locks = wanted.locks;
    this.permits = wanted.permits;
    this.acquireIndex = acquireIndex;
    this.token = token;
    this.#keeper = keeper;
    this.#mode = wanted.mode;
  }

  /** How it is held; `downgrade` makes `read` of `write`. */
  get mode(): HoldMode {
    return this.#mode;
  }

  /** The token as 16 digits, which sort as text. */
  get tokenText(): string {
    return tokenText(this.token);
  }

  /**
   * The lowest token under which the lock is held, as far as the ensemble has told: who holds a lock together with others tells it to the resource
   * beside its own token. The resource keeps the highest floor that it was told, and refuses every token below, which is of somebody who holds the
   * lock no more. It never falls, and follows within a moment when the holder with the lowest token leaves. For a lock that is held alone it is
   * the token itself; of several at once the lowest of those that others may hold, too; 0 where the servers have not told it.
   *
   * @example
   * await client.semaphore('exports', { permits: 3 }).withLock(async (held) => {
   *   await store.put('report', bytes, { token: held.token, floor: held.floor });
   * });
   */
  get floor(): number {
    return this.news.floor;
  }

  /**
   * Whether others wait for the lock, or did since it was granted: told within a moment, and never taken back. Whoever does long work in pieces
   * gives way between two of them.
   *
   * @example
   * await client.lock('index').withLock(async (held) => {
   *   for (const part of parts) {
   *     await rebuild(part, held.token);
   *     if (held.contended) break; // they go first, and the rest has its turn later
   *   }
   * });
   */
  get contended(): boolean {
    return this.news.contended;
  }

  /**
   * Aborts when others wait for the lock, once; it has aborted already where they do. For who keeps the lock until somebody else wants it. It
   * says nothing of whether the lock is held: that is what `signal` is for.
   *
   * @example
   * const held = await client.lock('cache').acquire();
   * await sleep(60_000, undefined, { signal: held.contendedSignal }).catch(() => undefined); // of node:timers/promises
   * await held.release();
   */
  get contendedSignal(): AbortSignal {
    return this.news.contendedSignal;
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

  /**
   * Aborts, with a ReleaseRequestedError as its reason, when an operator asks for the lock (`lockctl release --ask`). The hold goes on: finish, or
   * stop at a good place, and release it. `releaseRequest` says until when, and what comes then.
   *
   * @example
   * await client.lock('nightly').withLock(async (held) => {
   *   for (const job of jobs) {
   *     if (held.releaseRequested.aborted) break; // somebody needs the lock more
   *     await run(job, held.token);
   *   }
   * });
   */
  get releaseRequested(): AbortSignal {
    this.#releaseAborter ??= new AbortController();
    if (this.#releaseRequest !== undefined) this.#askToRelease(this.#releaseRequest);
    return this.#releaseAborter.signal;
  }

  /** Who has asked for the lock last, and until when; undefined while nobody has. */
  get releaseRequest(): ReleaseRequested | undefined {
    return this.#releaseRequest;
  }

  /** Why it is over; undefined while it is not known to be. */
  get loss(): LockLostError | undefined {
    // Made when asked for: every release is a loss, and an error's stack is dear.
    if (this.#lossReason !== undefined) this.#loss ??= new LockLostError(this.locks, this.#lossReason);
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
   * Goes on reading where it wrote: the hold stays, under its token, nobody writes in between, and those who wait to read get the lock as well.
   * From this call on `mode` is `read`, before the ensemble hears of it; resolves when it has done it. A second call waits for the first one.
   *
   * Rejects with InvalidArgumentError for anything but one lock that is held to write, LockLostError if it was lost, TimeoutError
   * if the answer does not come in time, and the signal's reason: in both cases it is done all the same, in the background.
   *
   * @example
   * await client.readWriteLock('config').write().withLock(async (held) => {
   *   await change(held.token);
   *   await held.downgrade(); // others may read now, and nobody has changed it since
   *   await publish();
   * });
   */
  async downgrade(options: CallOptions = {}): Promise<void> {
    checkOptionNames('downgrade', options, CALL_OPTIONS);
    checkDuration('timeoutMs', options.timeoutMs);
    if (this.#downgrade === undefined) {
      if (this.#mode !== 'write' || this.locks.length > 1) {
        const how = this.locks.length > 1 ? 'are held at once' : `is held ${HELD_TEXT[this.#mode]}`;
        throw new InvalidArgumentError(
          `${locksText(this.locks)} ${how}; only one that is held to write can be downgraded`,
        );
      }
      options.signal?.throwIfAborted();
      this.assertHeld();
      this.#downgrade = this.#readOn(options);
    }
    await this.#downgrade;
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
    const over = this.#lossReason !== undefined && this.#release === undefined;
    if (over && this.#keeper.releasedLost === undefined) return;
    await this.release().catch(() => undefined);
  }

  /** @internal It has been published that it began. */
  diagnose(message: HoldMessage): void {
    this.#diagnosed = message;
    if (this.#lossReason !== undefined) holdEnded(message, this.#lossReason);
  }

  /** @internal In the place of what was asked before. */
  requestRelease(request: ReleaseRequested): void {
    this.#releaseRequest = request;
    this.#askToRelease(request);
    this.#releaseListener?.(request);
  }

  /** @internal `listener`: of whoever shares this hold with others. */
  followRequests(listener: (request: ReleaseRequested) => void): void {
    this.#releaseListener = listener;
  }

  /** @internal `listener`: of whoever shares this hold with others; a signal would make an error for each release. */
  followLoss(listener: (reason: LockLossReason) => void): void {
    this.#lossListener = listener;
    if (this.#lossReason !== undefined) listener(this.#lossReason);
  }

  /** @internal */
  markLost(reason: LockLossReason): void {
    if (this.#lossReason !== undefined) return;
    this.#lossReason = reason;
    this.#lossListener?.(reason);
    if (this.#diagnosed !== undefined) holdEnded(this.#diagnosed, reason);
    this.#aborter?.abort(this.loss);
  }

  #askToRelease(request: ReleaseRequested): void {
    const aborter = this.#releaseAborter;
    if (aborter !== undefined && !aborter.signal.aborted) aborter.abort(requestError(locksText(this.locks), request));
  }

  #giveBack(): Promise<void> {
    try {
      this.assertHeld();
    } catch {
      this.#keeper.releasedLost?.(this);
      return Promise.reject(this.loss);
    }
    return this.#keeper.release(this);
  }

  async #readOn(options: CallOptions): Promise<void> {
    this.#mode = 'read';
    try {
      await this.#keeper.downgrade(this, options);
    } catch (error) {
      const refused = error instanceof HoldfastError && !error.indeterminate && options.signal?.aborted !== true;
      // Nothing has changed, and it may be tried again.
      if (refused && this.#lossReason === undefined) {
        this.#mode = 'write';
        this.#downgrade = undefined;
      }
      throw error;
    }
    if (this.#lossReason !== undefined && this.#lossReason !== 'released') throw this.loss;
  }
}

const HELD_TEXT: Readonly<Record<HoldMode, string>> = {
  exclusive: 'as a plain lock',
  write: 'to write',
  read: 'to read',
  shared: 'as a semaphore',
};
