/**
 * Looks at what waits are waiting for, so that a wait that ends without the lock can say why, and one that takes very long says so. Nothing
 * is asked for a wait that ends before that: once shortly before its limit, and when it has lasted for half a minute, a minute, and so on.
 * A caller that wants to know is told at once, and once a second. Who holds something, or waits for long, may be in a deadlock: that is asked then.
 */

import type { Answer, DeadlockStep, Query } from '@holdfast/protocol';
import { callQuery } from '../../session/channels/read-pipeline.ts';
import type { Session } from '../../session/session.ts';
import type { Limited } from '../../session/time-limits.ts';
import type { LockWait } from './lock-wait.ts';
import { listedQueue, placeOf, type ListedQueue } from './wait-place.ts';
import type { Wanted } from '../wanted.ts';

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

/** Whoever waits for an acquire. */
export interface WaitCaller {
  /** On the monotonic clock. */
  readonly expiresAtMs: number;
  /** Whether the caller wants to know, and how it is told. */
  readonly onWait: ((wait: LockWait) => void) | undefined;
}

/** An acquire that waits at the ensemble, and who has called it. */
export interface WaitingAcquire extends WaitCaller {
  readonly wanted: Wanted;
  readonly acquireIndex: number;
}

export class WaitLooks {
  readonly session: Session;
  readonly options: WaitLooksOptions;
  /** How many holds the client has. */
  readonly #holds: () => number;
  /** Questions under way: many who wait for one lock ask once. */
  readonly #asking = new Map<string, Promise<ListedQueue | undefined>>();

  constructor(session: Session, options: WaitLooksOptions, holds: () => number) {
    this.session = session;
    this.options = options;
    this.#holds = holds;
  }

  /** From now on, until `end` of what it returns. */
  begin(wait: WaitingAcquire): WaitLook {
    const look = new WaitLook(wait, this);
    this.session.limits.add(look);
    return look;
  }

  /** @internal Undefined where the ensemble does not answer. */
  ask(lock: string): Promise<ListedQueue | undefined> {
    let asking = this.#asking.get(lock);
    if (asking === undefined) {
      asking = this.#ask(lock).finally(() => this.#asking.delete(lock));
      this.#asking.set(lock, asking);
    }
    return asking;
  }

  /** @internal The deadlock that a wait is in; empty for none, and where the ensemble does not answer. */
  async deadlockOf(
    { wanted: { lock }, acquireIndex }: WaitingAcquire,
    long: boolean,
  ): Promise<readonly DeadlockStep[]> {
    // Of one that holds nothing others can only be behind.
    if (this.#holds() === 0 && !long) return [];
    const answer = await this.#query({ type: 'waitingFor', lock, acquireIndex });
    return answer?.type === 'waitingFor' ? answer.deadlock : [];
  }

  async #ask(lock: string): Promise<ListedQueue | undefined> {
    const answer = await this.#query({ type: 'lock', lock });
    return answer?.type === 'lock' ? listedQueue(answer) : undefined;
  }

  async #query(query: Extract<Query, { readonly lock: string }>): Promise<Answer | undefined> {
    try {
      // The server that this client is attached to has applied what it answered: no quorum is needed to see the wait.
      const options = { consistency: 'session', timeoutMs: ANSWER_TIMEOUT_MS } as const;
      return await callQuery(this.session.reads, query, `wait for "${query.lock}"`, options);
    } catch {
      return undefined;
    }
  }
}

/** What one caller is looked for. */
interface Schedule {
  readonly caller: WaitCaller;
  readonly sinceMs: number;
  /** `Infinity` when it is past. */
  lastLookAtMs: number;
  /** When the caller is told next; `Infinity` for one that does not want to know. */
  tellAtMs: number;
}

/** The looks at one wait. */
export class WaitLook implements Limited {
  readonly #wait: WaitingAcquire;
  readonly #looks: WaitLooks;
  readonly #sinceMs: number;
  /** Those who wait: of a reentrant lock there may be several, who come and go. */
  readonly #schedules = new Map<WaitCaller, Schedule>();
  #longAfterMs: number;
  #expiresAtMs = 0;
  #ended = false;
  #last: LockWait | undefined;

  /** @internal */
  constructor(wait: WaitingAcquire, looks: WaitLooks) {
    this.#wait = wait;
    this.#looks = looks;
    this.#sinceMs = this.#nowMs();
    this.#longAfterMs = looks.options.longWaitMs;
    this.#schedule(wait);
  }

  /** When it looks next. */
  get expiresAtMs(): number {
    return this.#expiresAtMs;
  }

  /** Another waits for the same acquire, by its own limit, until it leaves. */
  join(caller: WaitCaller): void {
    if (this.#ended) return;
    this.#schedule(caller);
    this.#looks.session.limits.add(this);
  }

  leave(caller: WaitCaller): void {
    this.#schedules.delete(caller);
  }

  /** What was seen last, for one who waits; undefined while nothing was. */
  lastOf(caller: WaitCaller): LockWait | undefined {
    const schedule = this.#schedules.get(caller);
    return this.#last && schedule && this.#since(this.#last, schedule.sinceMs);
  }

  expire(): void {
    const nowMs = this.#nowMs();
    const long = nowMs >= this.#sinceMs + this.#longAfterMs;
    if (long) this.#longAfterMs *= 2;
    let due = long;
    const tell: Schedule[] = [];
    for (const schedule of this.#schedules.values()) {
      if (nowMs >= schedule.lastLookAtMs) {
        schedule.lastLookAtMs = Number.POSITIVE_INFINITY;
        due = true;
      }
      if (nowMs < schedule.tellAtMs) continue;
      schedule.tellAtMs = nowMs + TELL_EVERY_MS;
      tell.push(schedule);
    }
    this.#expiresAtMs = this.#nextMs();
    this.#looks.session.limits.add(this);
    // For nothing it is called when a caller has left.
    if (due || tell.length > 0) void this.#look(long, tell);
  }

  end(): void {
    this.#ended = true;
    this.#looks.session.limits.delete(this);
  }

  #schedule(caller: WaitCaller): void {
    const sinceMs = this.#nowMs();
    const leftMs = caller.expiresAtMs - sinceMs;
    this.#schedules.set(caller, {
      caller,
      sinceMs,
      lastLookAtMs: caller.expiresAtMs - Math.min(LOOK_BEFORE_LIMIT_MS, leftMs / 2),
      tellAtMs: caller.onWait === undefined ? Number.POSITIVE_INFINITY : sinceMs,
    });
    this.#expiresAtMs = this.#nextMs();
  }

  #tell(schedule: Schedule, wait: LockWait): void {
    const { caller, sinceMs } = schedule;
    if (this.#schedules.get(caller) !== schedule) return;
    try {
      caller.onWait?.(this.#since(wait, sinceMs));
    } catch (error) {
      this.#looks.session.logger.error({ err: error, lock: wait.lock }, 'onWait threw');
    }
  }

  #since(wait: LockWait, sinceMs: number): LockWait {
    return { ...wait, waitedMs: this.#nowMs() - sinceMs };
  }

  #nowMs(): number {
    return this.#looks.session.clock.monotonicMs();
  }

  #nextMs(): number {
    let nextMs = this.#sinceMs + this.#longAfterMs;
    for (const { lastLookAtMs, tellAtMs } of this.#schedules.values()) {
      nextMs = Math.min(nextMs, lastLookAtMs, tellAtMs);
    }
    return nextMs;
  }

  async #look(long: boolean, tell: readonly Schedule[]): Promise<void> {
    const { wanted, acquireIndex } = this.#wait;
    const deadlock = this.#looks.deadlockOf(this.#wait, long);
    const answers = await Promise.all(wanted.locks.map((lock) => this.#looks.ask(lock)));
    const cycle = await deadlock;
    const queues = answers.filter((answer) => answer !== undefined);
    if (this.#ended || queues.length < answers.length) return;
    const place = placeOf(wanted, acquireIndex, queues);
    if (place === undefined) return;
    this.#last = { ...place, locks: wanted.locks, waitedMs: this.#nowMs() - this.#sinceMs, cycle };
    if (long) this.#looks.options.longWait(this.#last);
    for (const schedule of tell) this.#tell(schedule, this.#last);
  }
}
