/**
 * A small world in which every promise is kept: sessions that queue for locks, time out, expire, are revoked, and write to a fenced and
 * an unfenced register; nodes that are set and read by many at once. The same seed makes the same run, and fewer steps its beginning.
 * It shares no code with what it tests, except the recorder.
 */

import type { History, HistoryEventBody, Operation, TransactionStep } from '../../src/history/history.ts';
import { withElement } from '../../src/history/list-nodes.ts';
import { HistoryRecorder } from '../../src/history/recorder.ts';
import { RandomGroup } from './group/random-group.ts';
import { NodeTable } from './node-table.ts';
import { shareLocks } from './shared-locks.ts';
import { TwoStores, UNFENCED } from './two-stores.ts';

const TIMEOUT_MS = 1_000;
const LOCKS = ['a', 'b'];
const PATHS = ['/x', '/y'];
const LIST = '/list-0-0';
const PARENT = '/once-0-0';
const SESSIONS = 5;
const ACCOUNTS = [0, 1, 2, 3];

interface Waiter {
  readonly session: Session;
  readonly lock: string;
  readonly hold: number;
  readonly call: number;
  token: number;
}

interface Session {
  readonly id: number;
  readonly process: string;
  /** At the servers. */
  ended: boolean;
  lastSignMs: number;
  /** At the client. */
  over: boolean;
  renewedMs: number;
  /** One call at a time. */
  busy: boolean;
  held: Held | undefined;
}

interface Held {
  readonly waiter: Waiter;
  fenced: boolean;
  read: string | null | undefined;
}

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
  readonly #store = new TwoStores();
  readonly #nodes = new NodeTable();
  #values = 0;

  constructor(seed: number, steps: number) {
    this.#random = seed | 0;
    this.#steps = steps;
  }

  run(): History {
    this.#record('nemesis', { type: 'phase', phase: 'faults' });
    for (let n = 0; n < SESSIONS; n += 1) this.#connect();
    for (let step = 0; step < this.#steps; step += 1) this.#step();
    this.#record('nemesis', { type: 'phase', phase: 'healed' });
    this.#finish();
    this.#watch();
    this.#moveAmounts();
    this.#leaveUnused();
    this.#shareLocks();
    this.#readAll();
    const group = this.#group();
    group.use();
    this.#record('nemesis', { type: 'phase', phase: 'quiet' });
    group.finish();
    return this.#recorder.events;
  }

  #group(): RandomGroup {
    return new RandomGroup({
      record: (process, body) => {
        this.#nowMs += 1;
        this.#record(process, body);
      },
      nextCall: () => this.#recorder.nextCall(),
      nextIndex: () => (this.#index += 1),
      choose: (bound) => this.#choose(bound),
    });
  }

  #shareLocks(): void {
    shareLocks({
      record: (process, body) => {
        this.#nowMs += 1;
        this.#record(process, body);
      },
      nextCall: () => this.#recorder.nextCall(),
      nextIndex: () => (this.#index += 1),
      pass: (ms) => {
        this.#nowMs += ms;
      },
    });
  }

  /** An amount goes from one account to the next, as often as one likes; now and then nobody is told, or a version is wrong. */
  #moveAmounts(): void {
    const bank = '/bank-0';
    const paths = ACCOUNTS.map((account) => `${bank}/account-${account}`);
    const opened = [bank, ...paths, `${bank}/book`];
    const values = ACCOUNTS.map(() => '100 0');
    const versions = ACCOUNTS.map(() => 0);
    const opening = opened.map(
      (path) => ({ op: 'create', path, value: path.includes('account') ? '100 0' : '' }) as const,
    );
    this.#transact(opening, { results: opened });
    let entries = 0;
    const names: string[] = [];
    for (let call = 1; call <= 12; call += 1) {
      const from = this.#choose(4);
      const to = (from + 1 + this.#choose(3)) % 4;
      const set = (account: number, by: number) => {
        const value = `${Number.parseInt(values[account] ?? '', 10) + by} ${call}`;
        return { op: 'set', path: paths[account] ?? '', value, version: versions[account] ?? 0 } as const;
      };
      const entry = { op: 'create', path: `${bank}/book/e${call}-`, value: '', sequential: true } as const;
      const steps = [entry, set(from, -5), set(to, 5)] as const;
      const fate = this.#choose(5);
      if (fate === 0) {
        this.#transact([...steps, { op: 'check', path: bank, version: 9 }], 'BAD_VERSION', 3);
        continue;
      }
      const name = `e${call}-${String(entries).padStart(10, '0')}`;
      const results = [`${bank}/book/${name}`, steps[1].version + 1, steps[2].version + 1];
      if (fate === 1) {
        this.#transact(steps, 'TIMEOUT');
        if (this.#choose(2) === 0) continue;
      } else this.#transact(steps, { results });
      for (const [account, { value }] of [
        [from, steps[1]],
        [to, steps[2]],
      ] as const) {
        values[account] = value;
        versions[account] = (versions[account] ?? 0) + 1;
      }
      entries += 1;
      names.push(name);
    }
    const checks = paths.map((path, account) => ({ op: 'check', path, version: versions[account] ?? 0 }) as const);
    this.#transact(checks, { results: [null, null, null, null] });
    for (const [account, path] of paths.entries()) {
      const [value, version] = [values[account] ?? '', versions[account] ?? 0];
      this.#done({ f: 'read', path, consistency: 'linearizable' }, { value, version });
    }
    this.#done({ f: 'list', path: `${bank}/book` }, { names });
  }

  #transact(operations: readonly TransactionStep[], outcome: object | string, place?: number): void {
    const operation = { f: 'transaction', operations } as const;
    this.#index += 1;
    if (typeof outcome === 'object') this.#done(operation, { index: this.#index, ...outcome });
    else
      this.#done(operation, { type: outcome === 'TIMEOUT' ? 'info' : 'fail', code: outcome, ...(place && { place }) });
  }

  /** A node with a time to live and a container, with children and without, until they are gone; and a container that was never used. */
  #leaveUnused(): void {
    for (const parent of ['/limited', '/containers']) {
      const path = `${parent}/n1`;
      const kind = parent === '/limited' ? { ttlMs: 1_000 } : ({ container: true } as const);
      this.#done({ f: 'create', path, value: '1', ...kind });
      this.#done({ f: 'create', path: `${path}/c2`, value: '' });
      this.#nowMs += 3_000;
      this.#done({ f: 'read', path, consistency: 'linearizable' }, { value: '1', version: 0 });
      this.#done({ f: 'delete', path: `${path}/c2` });
      this.#nowMs += 1_500;
      this.#done({ f: 'create', path: `${path}/c3`, value: '' }, { type: 'fail', code: 'NOT_FOUND' });
    }
    this.#done({ f: 'create', path: '/containers/n2', value: '2', container: true });
    this.#nowMs += 60_000;
    this.#done({ f: 'read', path: '/containers/n2', consistency: 'linearizable' }, { value: '2', version: 0 });
  }

  #done(operation: Operation, result: object = {}): void {
    const call = this.#recorder.nextCall();
    for (const body of [{ type: 'invoke' }, { type: 'ok', ...result }]) {
      this.#nowMs += 1;
      this.#record('u1', { call, ...operation, ...body } as HistoryEventBody);
    }
  }

  /** Two clients watch the same nodes; one of them misses a part, and says so. */
  #watch(): void {
    const path = '/watched/n0';
    const record = (watch: number, event: 'started' | 'changed' | 'resync' | 'left', index: number): void => {
      const gap = event === 'resync' ? { from: index - 10 } : {};
      this.#record(`w${watch}`, { type: 'watched', watch, event, path, index, ...gap });
    };
    for (const watch of [1, 2]) record(watch, 'started', 100);
    for (let index = 101; index <= 120; index += 1) {
      record(1, 'changed', index);
      if (index <= 105 || index > 115) record(2, 'changed', index);
      if (index === 115) record(2, 'resync', index);
      this.#record('w1', { type: 'shown', by: 'read', path, index });
    }
    for (const watch of [1, 2]) record(watch, 'left', 120);
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
        return this.#work(session);
      case 9:
        if (this.#choose(5) === 0) return this.#sequential(session);
        return this.#choose(3) === 0 ? this.#list(session) : this.#node(session);
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
            return this.#work(session);
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

  /** The next step of: install the token, read, write the next number; at the store without a fence, only the write. */
  #work(session: Session): void {
    const { held } = session;
    if (held === undefined || session.busy) return;
    const { token, lock } = held.waiter;
    const bucket = `guarded-by-${lock}`;
    const key = 'n';
    if (!held.fenced) {
      this.#atStore(session, { f: 'fence', bucket, token }, () => {
        held.fenced = true;
      });
    } else if (held.read === undefined) {
      this.#atStore(session, { f: 'get', bucket, key, token }, (value) => {
        held.read = value;
      });
    } else {
      const number = held.read === null ? 0 : Number(held.read.split(':')[1]);
      const value = `${token}:${number + 1}`;
      this.#atStore(session, { f: 'put', bucket, key, value, token }, () => {
        held.read = undefined;
        if (this.#choose(2) === 0) this.#atStore(session, { f: 'put', bucket: UNFENCED, key, value, token }, () => {});
      });
    }
  }

  #atStore(
    session: Session,
    operation: Extract<Operation, { readonly f: 'fence' | 'put' | 'get' }>,
    then: (value: string | null) => void,
  ): void {
    const call = this.#invoke(session, operation);
    const { bucket, token = 0 } = operation;
    this.#later(() => {
      const { passes, highest, value } = this.#store.apply(operation);
      if (passes && operation.f !== 'get') this.#record('store', { type: 'accepted', f: operation.f, bucket, token });
      this.#later(() => {
        if (operation.f !== 'get' && this.#choose(8) === 0) {
          // Whoever does not know what became of a write stops writing under that token.
          session.held = undefined;
          this.#complete(session, { type: 'info', call, ...operation, code: 'TIMEOUT' });
        } else if (!passes) {
          this.#complete(session, { type: 'fail', call, ...operation, code: 'STALE_TOKEN', highest });
        } else {
          this.#complete(
            session,
            operation.f === 'get' ? { type: 'ok', call, ...operation, value } : { type: 'ok', call, ...operation },
          );
          then(value);
        }
      });
    });
  }

  #node(session: Session): void {
    if (session.busy || session.over) return;
    const path = PATHS[this.#choose(PATHS.length)] ?? '/x';
    this.#values += 1;
    const value = `v${this.#values}`;
    const seen = this.#nodes.version(path);
    const version = this.#choose(2) === 0 || seen === undefined ? undefined : seen;
    const demand = version === undefined ? {} : { version };
    const operations = [
      { f: 'create', path, value },
      { f: 'set', path, value, ...demand },
      { f: 'delete', path, ...demand },
      { f: 'read', path, consistency: 'linearizable' },
      { f: 'read', path, consistency: 'local' },
    ] as const;
    this.#atNode(session, operations[this.#choose(operations.length)] ?? operations[3]);
  }

  /** Creates, reads or appends to it. */
  #list(session: Session): void {
    if (session.busy || session.over) return;
    const version = this.#nodes.version(LIST);
    if (version === undefined) return this.#atNode(session, { f: 'create', path: LIST, value: '' });
    if (this.#choose(3) === 0) return this.#atNode(session, { f: 'read', path: LIST, consistency: 'linearizable' });
    this.#values += 1;
    const value = withElement(this.#nodes.value(LIST), `v${this.#values}`);
    this.#atNode(session, { f: 'set', path: LIST, value, version });
  }

  /** Creates a child, or lists all. */
  #sequential(session: Session): void {
    if (session.busy || session.over) return;
    if (this.#choose(6) === 0) return this.#atNode(session, { f: 'list', path: PARENT });
    this.#values += 1;
    const path = `${PARENT}/n${this.#values}-`;
    this.#atNode(session, { f: 'create-sequential', path, value: path });
  }

  /** When nobody appends or creates any more. */
  #readAll(): void {
    const session = this.#sessions.find(({ over, busy }) => !over && !busy);
    if (session === undefined) return;
    const readings = [
      { f: 'read', path: LIST, consistency: 'linearizable' },
      { f: 'list', path: PARENT },
    ] as const;
    for (const operation of readings) {
      this.#complete(session, this.#nodes.apply(operation, this.#invoke(session, operation)));
    }
  }

  #atNode(session: Session, operation: Extract<Operation, { readonly path: string }>): void {
    const call = this.#invoke(session, operation);
    const lost = operation.f !== 'read' && operation.f !== 'list' && this.#choose(6) === 0;
    if (lost) {
      this.#complete(session, { type: 'info', call, ...operation, code: 'TIMEOUT' });
      if (this.#choose(2) === 0) this.#later(() => void this.#nodes.apply(operation, call));
    } else {
      this.#later(() => {
        const answer = this.#nodes.apply(operation, call);
        this.#later(() => this.#complete(session, answer));
      });
    }
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
