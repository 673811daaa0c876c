/**
 * A small world in which every promise is kept: sessions that queue for locks, time out, expire, are revoked, and write to a fenced and
 * an unfenced register; nodes that are set and read by many at once. The same seed makes the same run, and fewer steps its beginning.
 * It shares no code with what it tests, except the recorder.
 */

import type { History, HistoryEventBody, Operation } from '../../src/history/history.ts';
import { HistoryRecorder } from '../../src/history/recorder.ts';
import { RandomGroup } from './group/random-group.ts';
import type { Around } from './random-world/around.ts';
import { RandomNodes } from './random-world/random-nodes.ts';
import { RandomWrites } from './random-world/random-writes.ts';
import type { Calls, Session, Waiter } from './random-world/session.ts';
import { useTree } from './random-world/tree.ts';
import { shareLocks } from './shared-locks.ts';

const TIMEOUT_MS = 1_000;
const LOCKS = ['a', 'b'];
const SESSIONS = 5;

export class RandomWorld {
  readonly #recorder = new HistoryRecorder();
  readonly #steps: number;
  #random: number;
  #nowMs = 0;
  #index = 100;
  readonly #sessions: Session[] = [];
  readonly #queues = new Map<string, Waiter[]>(LOCKS.map((lock) => [lock, []]));
  /** What is under way, each with its next step. */
  readonly #underWay: (() => void)[] = [];
  readonly #nodes: RandomNodes;
  readonly #writes: RandomWrites;

  constructor(seed: number, steps: number) {
    this.#random = seed | 0;
    this.#steps = steps;
    const calls: Calls = {
      choose: (bound) => this.#choose(bound),
      invoke: (session, operation) => this.#invoke(session, operation),
      complete: (session, body) => this.#complete(session, body),
      later: (step) => this.#later(step),
    };
    this.#nodes = new RandomNodes(calls);
    this.#writes = new RandomWrites(calls, (body) => this.#record('store', body));
  }

  run(): History {
    this.#record('nemesis', { type: 'phase', phase: 'faults' });
    for (let n = 0; n < SESSIONS; n += 1) this.#connect();
    for (let step = 0; step < this.#steps; step += 1) this.#step();
    this.#record('nemesis', { type: 'phase', phase: 'healed' });
    this.#finish();
    const around = this.#around();
    useTree(around);
    shareLocks(around);
    // Nobody appends or creates any more.
    const idle = this.#sessions.find(({ over, busy }) => !over && !busy);
    if (idle !== undefined) this.#nodes.readAll(idle);
    const group = new RandomGroup(around);
    group.use();
    this.#record('nemesis', { type: 'phase', phase: 'quiet' });
    group.finish();
    return this.#recorder.events;
  }

  #around(): Around {
    return {
      record: (process, body) => {
        this.#nowMs += 1;
        this.#record(process, body);
      },
      nextCall: () => this.#recorder.nextCall(),
      nextIndex: () => (this.#index += 1),
      pass: (ms) => {
        this.#nowMs += ms;
      },
      choose: (bound) => this.#choose(bound),
    };
  }

  #step(): void {
    this.#nowMs += this.#choose(8);
    const alive = this.#sessions.filter((session) => !session.over);
    const session = alive[this.#choose(alive.length)];
    if (session === undefined) return;
    switch (this.#choose(18)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 12:
      case 13:
      case 14:
      case 15:
        return this.#continue(this.#choose(this.#underWay.length));
      case 4:
        return this.#acquire(session);
      case 5:
        return this.#believe(session);
      case 7:
        return this.#renew(session);
      case 6:
      case 8:
      case 16:
        return this.#writes.work(session);
      case 9:
        if (this.#choose(5) === 0) return this.#nodes.sequential(session);
        return this.#choose(3) === 0 ? this.#nodes.list(session) : this.#nodes.node(session);
      case 10:
        return this.#expireSomebody();
      default:
        switch (this.#choose(12)) {
          case 0:
            return this.#revoke(session);
          case 1:
          case 2:
          case 3:
            return this.#release(session);
          default:
            return this.#writes.work(session);
        }
    }
  }

  /** Below `count`. */
  #choose(count: number): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count);
  }

  #record(process: string, body: HistoryEventBody): void {
    this.#recorder.record(process, this.#nowMs, { ...body });
  }

  #continue(which: number): void {
    this.#underWay.splice(which, 1)[0]?.();
  }

  #later(step: () => void): void {
    this.#underWay.push(step);
  }

  #connect(): void {
    this.#index += 1;
    const session: Session = {
      id: this.#index,
      process: `c${this.#index}`,
      ended: false,
      lastSignMs: this.#nowMs,
      over: false,
      renewedMs: this.#nowMs,
      busy: false,
      held: undefined,
    };
    this.#sessions.push(session);
    this.#record(session.process, { type: 'session', event: 'connected', session: session.id, timeoutMs: TIMEOUT_MS });
  }

  #invoke(session: Session, operation: Operation): number {
    session.busy = true;
    const call = this.#recorder.nextCall();
    this.#record(session.process, { type: 'invoke', call, ...operation });
    return call;
  }

  #complete(session: Session, body: HistoryEventBody): void {
    session.busy = false;
    this.#record(session.process, body);
  }

  #acquire(session: Session): void {
    if (session.over || session.busy || session.held !== undefined) return;
    const lock = LOCKS[this.#choose(LOCKS.length)] ?? 'a';
    const operation = { f: 'acquire', lock, session: session.id } as const;
    const call = this.#invoke(session, operation);
    const fail = (code: string): void =>
      this.#complete(session, { type: session.ended ? 'info' : 'fail', call, ...operation, code });
    this.#later(() => {
      if (session.ended) return fail('SESSION_EXPIRED');
      this.#index += 1;
      session.lastSignMs = this.#nowMs;
      const waiter: Waiter = { session, lock, hold: this.#index, call, token: 0 };
      this.#record('s1', { type: 'enqueued', index: this.#index, lock, session: session.id, hold: waiter.hold });
      this.#queue(lock).push(waiter);
      this.#grantNext(lock);
      this.#later(() => this.#wait(waiter, operation, fail));
    });
  }

  #wait(waiter: Waiter, operation: Extract<Operation, { f: 'acquire' }>, fail: (code: string) => void): void {
    const { session, lock, hold, call } = waiter;
    if (session.ended) return fail('SESSION_EXPIRED');
    const gone = !this.#queue(lock).includes(waiter);
    if (gone) return fail('LOCK_LOST');
    if (this.#choose(25) === 0) {
      fail('TIMEOUT');
      // Requests of a session take effect in order: nothing it does next passes the cancel.
      session.busy = true;
      this.#later(() => {
        session.busy = false;
        if (this.#queue(lock).includes(waiter)) this.#remove(waiter, 'cancelled');
        this.#later(() => this.#record(session.process, { type: 'cancelled', call }));
      });
      return;
    }
    if (waiter.token === 0 || !this.#leaseRuns(session)) return this.#later(() => this.#wait(waiter, operation, fail));
    session.held = { waiter, fenced: false, read: undefined };
    this.#complete(session, { type: 'ok', call, ...operation, token: waiter.token, hold });
  }

  #queue(lock: string): Waiter[] {
    return this.#queues.get(lock) ?? [];
  }

  #grantNext(lock: string): void {
    const first = this.#queue(lock)[0];
    if (first === undefined || first.token !== 0) return;
    first.token = this.#index;
    const { session, hold, token } = first;
    this.#record('s1', { type: 'granted', index: this.#index, lock, session: session.id, hold, token });
  }

  #remove(waiter: Waiter, reason: 'released' | 'cancelled' | 'revoked'): void {
    this.#index += 1;
    const { session, lock, hold } = waiter;
    this.#queue(lock).splice(this.#queue(lock).indexOf(waiter), 1);
    this.#record('s2', { type: 'removed', index: this.#index, lock, session: session.id, hold, reason });
    this.#grantNext(lock);
  }

  #leaseRuns(session: Session): boolean {
    return !session.over && this.#nowMs < session.renewedMs + TIMEOUT_MS * 0.98;
  }

  #believe(session: Session): void {
    const { held } = session;
    if (held === undefined) return;
    const { lock, token, hold } = held.waiter;
    if (this.#leaseRuns(session)) {
      this.#record(session.process, { type: 'believe', lock, session: session.id, token, hold });
    } else {
      this.#lose(session, 'expired');
    }
  }

  #lose(session: Session, reason: 'expired' | 'revoked'): void {
    if (session.held === undefined) return;
    const { lock, token, hold } = session.held.waiter;
    session.held = undefined;
    this.#record(session.process, { type: 'lost', lock, session: session.id, token, hold, reason });
  }

  #renew(session: Session): void {
    if (session.over) return;
    const sentMs = this.#nowMs;
    this.#later(() => {
      if (session.ended || session.over) return;
      session.lastSignMs = this.#nowMs;
      this.#later(() => {
        if (session.over) return;
        session.renewedMs = Math.max(session.renewedMs, sentMs);
        this.#record(session.process, { type: 'renewed', session: session.id, sentMs });
      });
    });
  }

  #expireSomebody(): void {
    const session = this.#sessions.find(({ ended, lastSignMs }) => !ended && this.#nowMs >= lastSignMs + TIMEOUT_MS);
    if (session === undefined) {
      if (this.#choose(12) === 0) this.#nowMs += this.#choose(800);
      return;
    }
    session.ended = true;
    this.#index += 1;
    const touched = new Set<string>();
    for (const [lock, queue] of this.#queues) {
      for (const waiter of queue.filter((candidate) => candidate.session === session)) {
        queue.splice(queue.indexOf(waiter), 1);
        touched.add(lock);
        const { hold } = waiter;
        this.#record('s3', { type: 'removed', index: this.#index, lock, session: session.id, hold, reason: 'expired' });
      }
    }
    for (const lock of touched) this.#grantNext(lock);
    this.#record('s3', { type: 'ended-session', index: this.#index, session: session.id, reason: 'expired' });
    this.#later(() => this.#reportEnd(session));
  }

  /** It may take long until the application hears of it: it may be paused. */
  #reportEnd(session: Session): void {
    if (this.#choose(4) !== 0) return this.#later(() => this.#reportEnd(session));
    this.#lose(session, 'expired');
    session.over = true;
    this.#record(session.process, { type: 'session', event: 'expired', session: session.id });
    this.#connect();
  }

  #revoke(session: Session): void {
    const { held } = session;
    if (held === undefined || !this.#queue(held.waiter.lock).includes(held.waiter)) return;
    this.#remove(held.waiter, 'revoked');
    this.#later(() => {
      if (session.held === held) this.#lose(session, 'revoked');
    });
  }

  #release(session: Session): void {
    const { held } = session;
    if (held === undefined || session.busy || !this.#leaseRuns(session)) return;
    session.held = undefined;
    const { lock, token, hold } = held.waiter;
    const operation = { f: 'release', lock, session: session.id, token, hold } as const;
    const call = this.#invoke(session, operation);
    this.#later(() => {
      const known = !session.ended && this.#queue(lock).includes(held.waiter);
      if (known) {
        session.lastSignMs = this.#nowMs;
        this.#remove(held.waiter, 'released');
      }
      this.#later(() => {
        if (known) this.#complete(session, { type: 'ok', call, ...operation });
        else this.#complete(session, { type: 'fail', call, ...operation, code: 'LOCK_LOST' });
      });
    });
  }

  /** Everybody gives back what they have, and everything under way comes to its end. */
  #finish(): void {
    for (let round = 0; round < 10_000; round += 1) {
      for (const session of this.#sessions) {
        if (session.over) continue;
        session.renewedMs = this.#nowMs;
        session.lastSignMs = Math.max(session.lastSignMs, this.#nowMs);
        if (!session.busy) this.#release(session);
      }
      this.#dropForgotten();
      if (this.#underWay.length === 0) return;
      this.#continue(0);
    }
    throw new Error('the random world does not come to rest');
  }

  /** Holds whose application has lost interest: it gives them back, without waiting for the answer. */
  #dropForgotten(): void {
    for (const queue of this.#queues.values()) {
      const head = queue[0];
      if (head === undefined || head.session.busy || head.session.held?.waiter === head) continue;
      this.#remove(head, 'released');
    }
  }
}
