/**
 * The leader's deadlines: when a session that nobody renews has expired. In memory and on the monotonic clock alone; a new leader
 * arms all of them in full. Promises that no session is expired earlier than its timeout after its last renewal was received,
 * counted without the time in which this process stalled; that while a crowd of sessions is on its way back the deadlines move on, since
 * a renewal may wait in that crowd; and that neither makes it more than twice the timeout. What an expiry does is up to the caller.
 *
 * A hashed timer wheel with one timer. A renewal only writes the deadline; a lease whose slot comes round early moves on then.
 */

import type { Clock, Timer } from '@holdfast/runtime';
import { MAX_SESSION_TIMEOUT_MS } from '@holdfast/protocol';
import { LEASE_EXTENSION_MS, LEASE_TICK_MS, MAX_LEASE_FACTOR } from '../limits.ts';

interface Lease {
  readonly session: number;
  readonly timeoutMs: number;
  /** On the lease clock. */
  deadlineMs: number;
  /** On the monotonic clock less the long stalls. */
  renewedAtMs: number;
  /** That of the slot which it is in; any other slot that has it is to pass it over. */
  tick: number;
  /** Its expiry is proposed and the outcome not yet known; it is in no slot then. */
  expiring: boolean;
  removed: boolean;
}

export interface LeasedSession {
  readonly id: number;
  readonly timeoutMs: number;
}

/** A leader that stands still for so long is deposed where there is another server. What is bounded are the stalls of one that is not. */
const LONG_STALL_MS = 1_000;
/** Stalls that add up to this much are worth a look at every lease. */
const STALL_SCAN_MS = 500;

// One revolution is longer than the longest timeout, so that every slot holds leases of one revolution only.
const SLOTS = 2 ** Math.ceil(Math.log2(MAX_SESSION_TIMEOUT_MS / LEASE_TICK_MS + 2));

export class SessionLeases {
  readonly #clock: Clock;
  #expired: (session: number) => void = () => {};
  readonly #crowded: () => boolean;
  readonly #leases = new Map<number, Lease>();
  /** Those that are not empty, by place. */
  readonly #slots = new Map<number, Lease[]>();
  #active = false;
  #timer: Timer | undefined;
  #timerDueMs = 0;
  /** Time that does not count against sessions: the lease clock is the monotonic one less this. */
  #stalledMs = 0;
  #stalledSinceScanMs = 0;
  #longStallsMs = 0;
  #tick = 0;
  /** How often a deadline was moved on for a crowd. */
  extensions = 0;

  /** `crowded`: renewals and attaches may wait in a queue of this ensemble's own. */
  constructor(clock: Clock, crowded: () => boolean = () => false) {
    this.#clock = clock;
    this.#crowded = crowded;
  }

  /**
   * `expired` is called in the check phase, after everything that had arrived was read; it must end in one of the methods below. Set once,
   * before the first lease.
   */
  onExpired(expired: (session: number) => void): void {
    this.#expired = expired;
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
      renewedAtMs: this.#unstalledMs(),
      tick: 0,
      expiring: false,
      removed: false,
    };
    this.#leases.set(session, lease);
    this.#insert(lease);
  }

  /** Counts the timeout from `nowMs`, which is now. False, without effect, for an unknown session and for one whose expiry is proposed. */
  renew(session: number, nowMs = this.#clock.monotonicMs()): boolean {
    const lease = this.#leases.get(session);
    if (lease === undefined || lease.expiring) return false;
    lease.renewedAtMs = nowMs - this.#longStallsMs;
    lease.deadlineMs = nowMs - this.#stalledMs + lease.timeoutMs;
    return true;
  }

  /** Its time is over now. False, without effect, for an unknown session and for one whose expiry is proposed. */
  expire(session: number): boolean {
    const lease = this.#leases.get(session);
    if (lease === undefined || lease.expiring) return false;
    lease.expiring = true;
    this.#expired(session);
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
    if (time === 'full') lease.renewedAtMs = this.#unstalledMs();
    lease.deadlineMs = this.#nowMs() + (time === 'full' ? lease.timeoutMs : LEASE_TICK_MS);
    this.#startTimer();
    this.#insert(lease);
  }

  #nowMs(): number {
    return this.#clock.monotonicMs() - this.#stalledMs;
  }

  #unstalledMs(): number {
    return this.#clock.monotonicMs() - this.#longStallsMs;
  }

  #insert(lease: Lease): void {
    // Rounded up, so that no lease ends early; never into the slot that is being emptied.
    const tick = Math.max(this.#tick + 1, Math.ceil(lease.deadlineMs / LEASE_TICK_MS));
    lease.tick = tick;
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
    if (lateMs > LEASE_TICK_MS) this.#stalled(lateMs);
    const decideAtMs = this.#nowMs();
    this.#timer = undefined;
    if (this.#leases.size === 0) return;
    this.#setTimer();
    // The event loop runs due timers before it reads sockets: renewals that wait in them count first.
    const scans = this.#stalledSinceScanMs >= STALL_SCAN_MS;
    if (scans) this.#clock.afterPoll(() => this.#endStalls());
    if (this.#skipToDue(decideAtMs) || scans) this.#clock.afterPoll(() => this.#decide(decideAtMs));
  }

  #stalled(ms: number): void {
    this.#stalledMs += ms;
    if (ms >= LONG_STALL_MS) this.#longStallsMs += ms;
    else this.#stalledSinceScanMs += ms;
  }

  /** Passes the ticks that no lease is in, most of them. Whether one that is due by then has a lease. */
  #skipToDue(nowMs: number): boolean {
    const last = Math.floor(nowMs / LEASE_TICK_MS);
    while (this.#tick < last && !this.#slots.has((this.#tick + 1) % SLOTS)) this.#tick += 1;
    return this.#tick < last;
  }

  /** Brings leases forward that have had all the time there is, stalls or not: the next tick finds them. */
  #endStalls(): void {
    this.#stalledSinceScanMs = 0;
    const nowMs = this.#unstalledMs();
    for (const lease of this.#leases.values()) {
      if (lease.expiring || nowMs < lastMoment(lease)) continue;
      lease.deadlineMs = Math.min(lease.deadlineMs, this.#nowMs());
      this.#insert(lease);
    }
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
        if (lease.removed || lease.expiring || lease.tick !== this.#tick) continue;
        if (lease.deadlineMs > nowMs || this.#extend(lease, nowMs)) {
          this.#insert(lease);
        } else {
          lease.expiring = true;
          this.#expired(lease.session);
        }
      }
    }
  }

  /** Moves the deadline on a little, if a renewal may wait in a crowd. */
  #extend(lease: Lease, nowMs: number): boolean {
    if (!this.#crowded() || this.#unstalledMs() >= lastMoment(lease)) return false;
    lease.deadlineMs = nowMs + LEASE_EXTENSION_MS;
    this.extensions += 1;
    return true;
  }
}

/** Nothing keeps a session that is not renewed longer than this. */
function lastMoment({ renewedAtMs, timeoutMs }: Lease): number {
  return renewedAtMs + MAX_LEASE_FACTOR * timeoutMs;
}
