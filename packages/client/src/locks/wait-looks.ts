/**
 * Looks at what waits are waiting for, so that a wait that ends without the lock can say why, and one that takes very long says so. Nothing
 * is asked for a wait that ends before that: once shortly before its limit, and when it has lasted for half a minute, a minute, and so on.
 * A caller that wants to know is told at once, and once a second.
 */

import { MAX_PAGE_ENTRIES, type Answer, type QueueEntry } from '@holdfast/protocol';
import { callQuery } from '../session/channels/read-pipeline.ts';
import type { Session } from '../session/session.ts';
import type { Limited } from '../session/time-limits.ts';
import type { LockWait } from './lock-wait.ts';

/** So long before its limit a wait is looked at, or after half of a short one: the answer has to come in time. */
const LOOK_BEFORE_LIMIT_MS = 500;
/** A caller that wants to know is told so often. */
const TELL_EVERY_MS = 1_000;
/** A question that is not answered in that time has no use any more. */
const ANSWER_TIMEOUT_MS = 5_000;

export interface WaitLooksOptions {
  /** The first report of a long wait comes after that, each further one after twice as long; `Infinity` for none. */
  readonly longWaitMs: number;
  /** Hears of a wait that takes long. */
  readonly longWait: (wait: LockWait) => void;
}

/** An acquire that waits at the ensemble. */
export interface WaitingAcquire {
  readonly lock: string;
  readonly acquireIndex: number;
  /** On the monotonic clock. */
  readonly expiresAtMs: number;
  /** Whether the caller wants to know, and how it is told. */
  readonly onWait: ((wait: LockWait) => void) | undefined;
}

interface Queue {
  readonly entries: readonly QueueEntry[];
  readonly truncated: boolean;
}

export class WaitLooks {
  readonly session: Session;
  readonly options: WaitLooksOptions;
  /** Questions under way: many who wait for one lock ask once. */
  readonly #asking = new Map<string, Promise<Queue | undefined>>();

  constructor(session: Session, options: WaitLooksOptions) {
    this.session = session;
    this.options = options;
  }

  /** From now on, until `end` of what it returns. */
  begin(wait: WaitingAcquire): WaitLook {
    const look = new WaitLook(wait, this);
    this.session.limits.add(look);
    return look;
  }

  /** @internal Undefined where the ensemble does not answer. */
  ask(lock: string): Promise<Queue | undefined> {
    let asking = this.#asking.get(lock);
    if (asking === undefined) {
      asking = this.#ask(lock).finally(() => this.#asking.delete(lock));
      this.#asking.set(lock, asking);
    }
    return asking;
  }

  async #ask(lock: string): Promise<Queue | undefined> {
    try {
      // The server that this client is attached to has applied what it answered: no quorum is needed to see the wait.
      const options = { consistency: 'session', timeoutMs: ANSWER_TIMEOUT_MS } as const;
      const answer: Answer = await callQuery(this.session.reads, { type: 'lock', lock }, `wait for "${lock}"`, options);
      return answer.type === 'lock' ? { entries: answer.queue, truncated: answer.truncated } : undefined;
    } catch {
      return undefined;
    }
  }
}

/** The looks at one wait. */
export class WaitLook implements Limited {
  readonly #wait: WaitingAcquire;
  readonly #looks: WaitLooks;
  readonly #sinceMs: number;
  readonly #lastLookAtMs: number;
  #longAfterMs: number;
  /** When the caller is told next; `Infinity` for one that does not want to know. */
  #tellAtMs: number;
  #expiresAtMs = 0;
  #ended = false;
  #last: LockWait | undefined;

  /** @internal */
  constructor(wait: WaitingAcquire, looks: WaitLooks) {
    this.#wait = wait;
    this.#looks = looks;
    this.#sinceMs = looks.session.clock.monotonicMs();
    this.#longAfterMs = looks.options.longWaitMs;
    this.#tellAtMs = wait.onWait === undefined ? Number.POSITIVE_INFINITY : this.#sinceMs;
    const leftMs = wait.expiresAtMs - this.#sinceMs;
    this.#lastLookAtMs = wait.expiresAtMs - Math.min(LOOK_BEFORE_LIMIT_MS, leftMs / 2);
    this.#expiresAtMs = this.#nextMs(this.#sinceMs);
  }

  /** When it looks next. */
  get expiresAtMs(): number {
    return this.#expiresAtMs;
  }

  /** What was seen last; undefined while nothing was. */
  get last(): LockWait | undefined {
    const nowMs = this.#looks.session.clock.monotonicMs();
    return this.#last && { ...this.#last, waitedMs: nowMs - this.#sinceMs };
  }

  expire(): void {
    const nowMs = this.#looks.session.clock.monotonicMs();
    const long = nowMs >= this.#sinceMs + this.#longAfterMs;
    if (long) this.#longAfterMs *= 2;
    const tell = nowMs >= this.#tellAtMs;
    if (tell) this.#tellAtMs = nowMs + TELL_EVERY_MS;
    this.#expiresAtMs = this.#nextMs(nowMs);
    this.#looks.session.limits.add(this);
    void this.#look({ long, tell });
  }

  end(): void {
    this.#ended = true;
    this.#looks.session.limits.delete(this);
  }

  #tell(wait: LockWait): void {
    try {
      this.#wait.onWait?.(wait);
    } catch (error) {
      this.#looks.session.logger.error({ err: error, lock: wait.lock }, 'onWait threw');
    }
  }

  #nextMs(nowMs: number): number {
    const longAtMs = this.#sinceMs + this.#longAfterMs;
    const lastAtMs = this.#lastLookAtMs > nowMs ? this.#lastLookAtMs : Number.POSITIVE_INFINITY;
    return Math.min(longAtMs, lastAtMs, this.#tellAtMs);
  }

  async #look({ long, tell }: { readonly long: boolean; readonly tell: boolean }): Promise<void> {
    const queue = await this.#looks.ask(this.#wait.lock);
    if (this.#ended || queue === undefined) return;
    const waiting = queue.entries.filter(({ token }) => token === 0);
    const place = waiting.findIndex(({ acquireIndex }) => acquireIndex === this.#wait.acquireIndex);
    // It was granted meanwhile, and the news is on its way.
    if (place < 0 && !queue.truncated) return;
    this.#last = {
      lock: this.#wait.lock,
      waitedMs: this.#looks.session.clock.monotonicMs() - this.#sinceMs,
      holders: queue.entries.filter(({ token }) => token !== 0),
      before: place < 0 ? Math.min(waiting.length, MAX_PAGE_ENTRIES) : place,
      truncated: place < 0,
    };
    if (long) this.#looks.options.longWait(this.#last);
    if (tell) this.#tell(this.#last);
  }
}
