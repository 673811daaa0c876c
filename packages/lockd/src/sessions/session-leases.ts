/**
 * The leader's deadlines: when a session that nobody renews has expired. In memory and on the monotonic clock alone; a new leader
 * arms all of them in full. Promises that no session is expired earlier than its time-out after its last renewal was received,
 * counted without the time in which this process stalled. What an expiry does is up to the caller.
 *
 * A hashed timer wheel with one timer. A renewal only writes the deadline; a lease whose slot comes round early moves on then.
 */

import type { Clock, Timer } from '@holdfast/runtime';
import { MAX_SESSION_TIMEOUT_MS } from '@holdfast/protocol';
import { LEASE_TICK_MS } from '../limits.ts';

interface Lease {
  readonly session: number;
  readonly timeoutMs: number;
  /** On the lease clock. */
  deadlineMs: number;
  /** Its expiry is proposed and the outcome not yet known; it is in no slot then. */
  expiring: boolean;
  removed: boolean;
}

export interface LeasedSession {
  readonly id: number;
  readonly timeoutMs: number;
}

// One revolution is longer than the longest time-out, so that every slot holds leases of one revolution only.
const SLOTS = 2 ** Math.ceil(Math.log2(MAX_SESSION_TIMEOUT_MS / LEASE_TICK_MS + 2));

export class SessionLeases {
  readonly #clock: Clock;
  readonly #expired: (session: number) => void;
  readonly #leases = new Map<number, Lease>();
  /** Those that are not empty, by place. */
  readonly #slots = new Map<number, Lease[]>();
  #active = false;
  #timer: Timer | undefined;
  #timerDueMs = 0;
  /** Time that does not count against sessions: the lease clock is the monotonic one less this. */
  #stalledMs = 0;
  #tick = 0;

  /** `expired` is called in the check phase, after everything that had arrived was read; it must end in one of the methods below. */
  constructor(expired: (session: number) => void, clock: Clock) {
    this.#expired = expired;
    this.#clock = clock;
  }

  get size(): number {
    return this.#leases.size;
  }

  get active(): boolean {
    return this.#active;
  }

  /** Begins to lead: every session gets its full time. */
  start(sessions: Iterable<LeasedSession>): void {
    this.stop();
    this.#active = true;
    for (const session of sessions) this.arm(session.id, session.timeoutMs);
  }

  /** Leads no more. */
  stop(): void {
    this.#active = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#leases.clear();
    this.#slots.clear();
  }

  /** A new session; its time begins now. */
  arm(session: number, timeoutMs: number): void {
    if (!this.#active || this.#leases.has(session)) return;
    this.#startTimer();
    const lease: Lease = {
      session,
      timeoutMs,
      deadlineMs: this.#nowMs() + timeoutMs,
      expiring: false,
      removed: false,
    };
    this.#leases.set(session, lease);
    this.#insert(lease);
  }

  /** Counts the time-out from now. False, without effect, for an unknown session and for one whose expiry is proposed. */
  renew(session: number): boolean {
    const lease = this.#leases.get(session);
    if (lease === undefined || lease.expiring) return false;
    lease.deadlineMs = this.#nowMs() + lease.timeoutMs;
    return true;
  }

  /** The session has ended. */
  remove(session: number): void {
    const lease = this.#leases.get(session);
    if (lease === undefined) return;
    lease.removed = true;
    this.#leases.delete(session);
  }

  /** The proposed expiry came back without effect (the session was attached again meanwhile): its time begins anew. */
  survived(session: number): void {
    this.#rearm(session, 'full');
  }

  /** The expiry could not be proposed and is not in the log: it is tried again at the next tick, unless a renewal is earlier. */
  retry(session: number): void {
    this.#rearm(session, 'next-tick');
  }

  #rearm(session: number, time: 'full' | 'next-tick'): void {
    const lease = this.#leases.get(session);
    if (lease === undefined || !lease.expiring) return;
    lease.expiring = false;
    lease.deadlineMs = this.#nowMs() + (time === 'full' ? lease.timeoutMs : LEASE_TICK_MS);
    this.#startTimer();
    this.#insert(lease);
  }

  #nowMs(): number {
    return this.#clock.monotonicMs() - this.#stalledMs;
  }

  #insert(lease: Lease): void {
    // Rounded up, so that no lease ends early; never into the slot that is being emptied.
    const tick = Math.max(this.#tick + 1, Math.ceil(lease.deadlineMs / LEASE_TICK_MS));
    const slot = this.#slots.get(tick % SLOTS);
    if (slot === undefined) this.#slots.set(tick % SLOTS, [lease]);
    else slot.push(lease);
  }

  #startTimer(): void {
    if (this.#timer !== undefined) return;
    this.#tick = Math.floor(this.#nowMs() / LEASE_TICK_MS);
    this.#setTimer();
  }

  #setTimer(): void {
    this.#timerDueMs = this.#clock.monotonicMs() + LEASE_TICK_MS;
    this.#timer = this.#clock.setTimer(LEASE_TICK_MS, () => this.#timerFired());
  }

  #timerFired(): void {
    const lateMs = this.#clock.monotonicMs() - this.#timerDueMs;
    if (lateMs > LEASE_TICK_MS) this.#stalledMs += lateMs;
    const decideAtMs = this.#nowMs();
    this.#timer = undefined;
    if (this.#leases.size === 0) return;
    this.#setTimer();
    // The event loop runs due timers before it reads sockets: renewals that wait in them count first.
    if (this.#skipToDue(decideAtMs)) this.#clock.afterPoll(() => this.#decide(decideAtMs));
  }

  /** Passes the ticks that no lease is in, most of them. Whether one that is due by then has a lease. */
  #skipToDue(nowMs: number): boolean {
    const last = Math.floor(nowMs / LEASE_TICK_MS);
    while (this.#tick < last && !this.#slots.has((this.#tick + 1) % SLOTS)) this.#tick += 1;
    return this.#tick < last;
  }

  #decide(nowMs: number): void {
    if (!this.#active) return;
    const last = Math.floor(nowMs / LEASE_TICK_MS);
    while (this.#tick < last) {
      this.#tick += 1;
      const position = this.#tick % SLOTS;
      const due = this.#slots.get(position);
      if (due === undefined) continue;
      this.#slots.delete(position);
      for (const lease of due) {
        if (lease.removed) continue;
        if (lease.deadlineMs > nowMs) {
          this.#insert(lease);
        } else {
          lease.expiring = true;
          this.#expired(lease.session);
        }
      }
    }
  }
}
