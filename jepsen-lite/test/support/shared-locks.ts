/**
 * A stretch of a proper history with locks of other kinds: read together and downgraded, with permits, taken several at once, entered again,
 * waited for in a ring, and delayed. It shares no code with what it tests.
 */

import type { LockRequest } from '@holdfast/protocol';

import type { HistoryEventBody, Operation } from '../../src/history/history.ts';
import type { Around } from './random-world/around.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };
/** Of every session. */
const TIMEOUT_MS = 60_000;
const DELAY_MS = 4_000;
const ACCOUNTS = ['account-a', 'account-b', 'account-c'];

interface Held {
  readonly session: number;
  readonly locks: readonly string[];
  readonly hold: number;
  readonly token: number;
}

interface Asked {
  readonly call: { readonly call: number; readonly f: 'acquire'; readonly lock: string; readonly session: number };
  readonly index: number;
}

export function shareLocks(around: Around): void {
  const locks = new SharedLocks(around);
  const [one, other] = [locks.connect(), locks.connect()];
  locks.readTogether(one, other);
  locks.takePermits(one, other);
  locks.moveAmounts(one, other);
  locks.enterAgain(one);
  locks.waitInRing(one, other);
  locks.loseDelayed(locks.connect(), one, other);
  for (const session of [one, other]) locks.close(session);
}

class SharedLocks {
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  connect(): number {
    const session = this.#around.nextIndex();
    this.#record(session, { type: 'session', event: 'connected', session, timeoutMs: TIMEOUT_MS });
    return session;
  }

  close(session: number): void {
    this.#log({ type: 'ended-session', index: this.#around.nextIndex(), session, reason: 'closed' });
    this.#record(session, { type: 'session', event: 'closed', session });
  }

  readTogether(one: number, other: number): void {
    const lock = 'read-write';
    const readers = [this.#acquire(one, [lock], READ), this.#acquire(other, [lock], READ)];
    for (const reader of readers) this.#fence(reader);
    for (const reader of [...readers, ...readers]) this.#look(reader, null);
    for (const reader of readers) this.#believe(reader);
    for (const reader of readers) this.#release(reader);
    const writer = this.#acquire(one, [lock], WRITE);
    const { session, token, hold } = writer;
    this.#fence(writer);
    const value = `${token}:1`;
    this.#done(session, { f: 'put', bucket: lock, key: 'n', value, token });
    this.#done(session, { f: 'downgrade', lock, session, token, hold }, {}, () =>
      this.#log({ type: 'downgraded', index: this.#around.nextIndex(), lock, session, hold }),
    );
    const reader = this.#acquire(other, [lock], READ);
    for (const each of [writer, writer]) this.#look(each, value);
    this.#believe(writer);
    this.#release(reader);
    this.#release(writer);
  }

  takePermits(one: number, other: number): void {
    const lock = 'permits';
    const of = (permits: number): LockRequest => ({ type: 'semaphore', permits, limit: 3 });
    const [two, single] = [this.#acquire(one, [lock], of(2)), this.#acquire(other, [lock], of(1))];
    for (const held of [two, single]) this.#believe(held);
    this.#release(two);
    this.#release(single);
    this.#release(this.#acquire(other, [lock], of(3)));
  }

  /** From the first account to the second; then somebody looks at all. */
  moveAmounts(one: number, other: number): void {
    const [from = '', to = ''] = ACCOUNTS;
    const mover = this.#acquire(one, [from, to]);
    const { session, token } = mover;
    this.#fence(mover);
    const values = [`${token}:1:95:-5`, `${token}:1:105:5`];
    for (const [place, bucket] of mover.locks.entries()) {
      this.#done(session, { f: 'put', bucket, key: 'amount', value: values[place] ?? '', token });
    }
    this.#release(mover);
    const auditor = this.#acquire(other, ACCOUNTS);
    this.#fence(auditor);
    for (const [place, bucket] of ACCOUNTS.entries()) {
      const operation = { f: 'get', bucket, key: 'amount', token: auditor.token, hold: auditor.hold } as const;
      this.#done(other, operation, { value: values[place] ?? null });
    }
    this.#believe(auditor);
    this.#release(auditor);
  }

  enterAgain(session: number): void {
    const lock = 'reentrant';
    const owner = `${session}.0`;
    const hold = this.#around.nextIndex();
    const named = { lock, session, hold };
    const granted = (): void => {
      this.#log({ type: 'enqueued', index: hold, ...named });
      this.#log({ type: 'granted', index: hold, ...named, token: hold });
    };
    for (const log of [granted, undefined]) {
      this.#done(session, { f: 'enter', lock, session, owner, limit: 2 }, { token: hold, hold }, log);
    }
    this.#believe({ session, locks: [lock], hold, token: hold });
    const removed = (): void =>
      this.#log({ type: 'removed', index: this.#around.nextIndex(), ...named, reason: 'released' });
    for (const log of [undefined, removed]) {
      this.#done(session, { f: 'leave', ...named, owner, token: hold }, {}, log);
    }
  }

  /** Each has what the other one asks for; the wait of the first is ended for that. */
  waitInRing(one: number, other: number): void {
    const [first, second] = ['a-crossed', 'b-crossed'] as const;
    const [held, behind] = [this.#acquire(one, [first]), this.#acquire(other, [second])];
    const ended = this.#wait(one, second);
    const waits = this.#wait(other, first);
    const { index: hold } = ended;
    this.#log({ type: 'removed', index: waits.index, lock: second, session: one, hold, reason: 'deadlock' });
    this.#record(one, { type: 'fail', code: 'DEADLOCK', ...ended.call });
    this.#release(this.#releaseTo(held, waits));
    this.#release(behind);
  }

  /** The first to have the lock is lost with its session; of the others, who wait, one has it after the delay, and gives it to the next. */
  loseDelayed(lost: number, next: number, last: number): void {
    const lock = 'delayed';
    const delay = { delayMs: DELAY_MS };
    const held = this.#acquire(lost, [lock], undefined, delay);
    this.#believe(held);
    const waits = this.#wait(next, lock, delay);
    this.#around.pass(TIMEOUT_MS);
    const ended = { index: this.#around.nextIndex(), session: lost, reason: 'expired' } as const;
    this.#log({ type: 'removed', ...ended, lock, hold: held.hold });
    this.#log({ type: 'ended-session', ...ended });
    this.#record(lost, { type: 'session', event: 'expired', session: lost });
    const behind = this.#wait(last, lock, delay);
    this.#around.pass(DELAY_MS);
    const granted = { index: this.#around.nextIndex(), session: next, hold: waits.index };
    this.#log({ type: 'granted', ...granted, lock, token: granted.index });
    this.#record(next, { type: 'ok', ...waits.call, token: granted.index, hold: waits.index });
    this.#release(this.#releaseTo({ session: next, locks: [lock], hold: waits.index, token: granted.index }, behind));
  }

  /** To the one who waits for it. */
  #releaseTo({ session, locks: [lock = ''], hold, token }: Held, { call, index: waits }: Asked): Held {
    const index = this.#around.nextIndex();
    const release = { call: this.#around.nextCall(), f: 'release', lock, session, token, hold } as const;
    this.#record(session, { type: 'invoke', ...release });
    this.#log({ type: 'removed', index, lock, session, hold, reason: 'released' });
    this.#log({ type: 'granted', index, lock, session: call.session, hold: waits, token: index });
    this.#record(session, { type: 'ok', ...release });
    this.#record(call.session, { type: 'ok', ...call, token: index, hold: waits });
    return { session: call.session, locks: [lock], hold: waits, token: index };
  }

  #wait(session: number, lock: string, options: { readonly delayMs?: number } = {}): Asked {
    const call = { call: this.#around.nextCall(), f: 'acquire', lock, session, ...options } as const;
    this.#record(session, { type: 'invoke', ...call });
    const index = this.#around.nextIndex();
    this.#log({ type: 'enqueued', index, lock, session, hold: index });
    return { call, index };
  }

  /** Free, or to be held beside others. */
  #acquire(
    session: number,
    locks: readonly string[],
    asked?: LockRequest,
    options: { readonly delayMs?: number } = {},
  ): Held {
    const index = this.#around.nextIndex();
    const request = asked === undefined ? {} : { asked };
    const calls = locks.map((lock) => {
      const others = locks.length === 1 ? {} : { others: locks.filter((other) => other !== lock) };
      return { call: this.#around.nextCall(), f: 'acquire', lock, session, ...request, ...others, ...options } as const;
    });
    for (const call of calls) this.#record(session, { type: 'invoke', ...call });
    const named = { index, session, hold: index, ...request };
    for (const lock of locks) this.#log({ type: 'enqueued', ...named, lock });
    for (const lock of locks) this.#log({ type: 'granted', ...named, lock, token: index });
    for (const call of calls) this.#record(session, { type: 'ok', ...call, token: index, hold: index });
    return { session, locks, hold: index, token: index };
  }

  #release({ session, locks, hold, token }: Held): void {
    const index = this.#around.nextIndex();
    const calls = locks.map((lock) => {
      return { call: this.#around.nextCall(), f: 'release', lock, session, token, hold } as const;
    });
    for (const call of calls) this.#record(session, { type: 'invoke', ...call });
    for (const lock of locks) this.#log({ type: 'removed', index, lock, session, hold, reason: 'released' });
    for (const call of calls) this.#record(session, { type: 'ok', ...call });
  }

  #believe({ session, locks, hold, token }: Held): void {
    for (const lock of locks) this.#record(session, { type: 'believe', lock, session, token, hold });
  }

  #fence({ session, locks, token }: Held): void {
    for (const bucket of locks) this.#done(session, { f: 'fence', bucket, token });
  }

  #look({ session, locks, hold }: Held, value: string | null): void {
    for (const bucket of locks) this.#done(session, { f: 'get', bucket, key: 'n', hold }, { value });
  }

  #done(session: number, operation: Operation, result: object = {}, log?: () => void): void {
    const call = this.#around.nextCall();
    this.#record(session, { type: 'invoke', call, ...operation });
    log?.();
    this.#record(session, { type: 'ok', call, ...operation, ...result } as HistoryEventBody);
  }

  #record(session: number, body: HistoryEventBody): void {
    this.#around.record(`r${session}`, body);
  }

  #log(body: HistoryEventBody): void {
    this.#around.record('s1', body);
  }
}
