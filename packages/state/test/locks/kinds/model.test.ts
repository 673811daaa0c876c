/**
 * Each kind of lock against a model of its own: random acquires, tries, releases, cancels, conversions, revocations and ends of sessions.
 * The model is a list that is searched from the beginning, and knows the kind by the words of its promise.
 */

import type { LockRequest } from '@holdfast/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bytesOf, restore } from '../../support/snapshots.ts';
import { Solo, type SoloSession } from '../../support/solo.ts';

type Of<T extends LockRequest['type']> = Extract<LockRequest, { readonly type: T }>;

interface Kind<R extends LockRequest> {
  readonly requests: readonly R[];
  /** Whether `next` may hold beside those who do. */
  together(holders: readonly R[], next: R): boolean;
  /** Whether the hold may become that. */
  converts?(held: R, next: R): boolean;
  /** Whether the owner of the hold asks, and how often it may have entered. */
  enters?(held: R, next: R): number;
}

const readWrite: Kind<Of<'readWrite'>> = {
  requests: [
    { type: 'readWrite', mode: 'read' },
    { type: 'readWrite', mode: 'read' },
    { type: 'readWrite', mode: 'write' },
  ],
  together: (holders, next) => holders.length === 0 || [...holders, next].every(({ mode }) => mode === 'read'),
  converts: (held, next) => held.mode === 'write' && next.mode === 'read',
};

const semaphore: Kind<Of<'semaphore'>> = {
  requests: [1, 1, 2, 3].map((count) => ({ type: 'semaphore', permits: 3, count }) as const),
  together: (holders, next) => [...holders, next].reduce((sum, { count }) => sum + count, 0) <= 3,
  converts: (held, next) => next.count < held.count,
};

const reentrant: Kind<Of<'reentrant'>> = {
  requests: [1, 2, 3].map((owner) => ({ type: 'reentrant', owner, limit: 3 }) as const),
  together: (holders) => holders.length === 0,
  enters: (held, next) => (held.owner === next.owner ? 3 : 0),
};

interface Place<R> {
  readonly session: number;
  readonly acquireIndex: number;
  request: R;
  token: number;
  entries: number;
}

class Model<R extends LockRequest> {
  readonly #kind: Kind<R>;
  queue: Place<R>[] = [];

  constructor(kind: Kind<R>) {
    this.#kind = kind;
  }

  get holders(): Place<R>[] {
    return this.queue.filter(({ token }) => token !== 0);
  }

  /** What the answer must be: a place, or the word for a refusal. */
  acquire(session: number, request: R, wait: boolean, index: number): Place<R> | 'held' | 'limit' {
    const [holder] = this.holders;
    const most = holder?.session === session ? (this.#kind.enters?.(holder.request, request) ?? 0) : 0;
    if (holder !== undefined && most > 0) {
      if (holder.entries >= most) return 'limit';
      holder.entries += 1;
      return holder;
    }
    const free = this.queue.every(({ token }) => token !== 0) && this.#mayJoin(request);
    if (!free && !wait) return 'held';
    const place = { session, acquireIndex: index, request, token: 0, entries: 1 };
    this.queue.push(place);
    this.grant(index);
    return place;
  }

  give(place: Place<R>, index: number): void {
    if (place.entries > 1) place.entries -= 1;
    else this.remove([place], index);
  }

  convert(place: Place<R>, request: R, index: number): boolean {
    if (place.token === 0 || this.#kind.converts?.(place.request, request) !== true) return false;
    place.request = request;
    this.grant(index);
    return true;
  }

  /** @param raised by an operator: no hold that stays has a lower token than one that goes */
  remove(places: readonly Place<R>[], index: number, raised = false): void {
    const held = places.some(({ token }) => token !== 0);
    this.queue = this.queue.filter((place) => !places.includes(place));
    if (raised && held) for (const holder of this.holders) holder.token = index;
    this.grant(index);
  }

  grant(index: number): void {
    for (const place of this.queue) {
      if (place.token !== 0) continue;
      if (!this.#mayJoin(place.request)) return;
      place.token = index;
    }
  }

  #mayJoin(request: R): boolean {
    const holders = this.holders.map((place) => place.request);
    return this.#kind.together(holders, request);
  }
}

const move = fc.record({
  what: fc.constantFrom(
    'acquire',
    'acquire',
    'acquire',
    'try',
    'release',
    'release',
    'cancel',
    'convert',
    'revoke',
    'expire',
  ),
  who: fc.nat({ max: 3 }),
  request: fc.nat({ max: 11 }),
  pick: fc.nat({ max: 11 }),
});
type Move = typeof move extends fc.Arbitrary<infer M> ? M : never;

class Run<R extends LockRequest> {
  readonly solo = new Solo().raise();
  readonly #kind: Kind<R>;
  readonly #model: Model<R>;
  readonly #sessions: SoloSession[];

  constructor(kind: Kind<R>) {
    this.#kind = kind;
    this.#model = new Model(kind);
    this.#sessions = [0, 1, 2, 3].map((n) => this.solo.open(`session ${n}`));
  }

  make({ what, who, request: asked, pick }: Move): void {
    const session = this.#sessions[who];
    const request = this.#kind.requests[asked % this.#kind.requests.length];
    if (session === undefined || request === undefined) throw new Error('nobody asks for nothing');
    const { queue } = this.#model;
    const own = queue.filter((place) => place.session === session.id);
    const place = own[pick % Math.max(1, own.length)];
    const any = queue[pick % Math.max(1, queue.length)];
    if (what === 'acquire' || what === 'try') this.#acquire(session, request, what === 'acquire');
    else if (what === 'expire') {
      this.solo.expire(session.id);
      this.#model.remove(own, this.solo.index);
      this.#sessions[who] = this.solo.open(`session ${who}`);
    } else if (what === 'revoke') this.#revoke(session, any);
    else if (place !== undefined) this.#change(what, session, place, request);
  }

  /** What the machine shows is what the model has. */
  compare(): void {
    const { queue } = this.#model;
    const shown = this.solo
      .ask({ type: 'lock', lock: 'l' })
      .queue.map(({ session, acquireIndex, token, entries = 1 }) => {
        return { session, acquireIndex, token, entries };
      });
    expect(shown).toEqual(
      queue.map(({ session, acquireIndex, token, entries }) => ({ session, acquireIndex, token, entries })),
    );
    const lowest = Math.min(...this.#model.holders.map(({ token }) => token));
    for (const { acquireIndex, token } of queue) {
      const { floor = lowest, ...verified } = this.solo.ask({ type: 'verify', lock: 'l', acquireIndex });
      expect(verified).toEqual({ type: 'verify', token });
      if (token !== 0) expect(floor).toBe(lowest);
    }
    const { holds, waits } = this.solo.machine.counts;
    expect([holds, waits]).toEqual([this.#model.holders.length, queue.length - this.#model.holders.length]);
  }

  /** And so does a machine that was restored from it. */
  restored(): void {
    const { solo } = this;
    const other = new Solo();
    restore(bytesOf(solo.machine), solo.index, other.machine);
    expect(other.ask({ type: 'lock', lock: 'l' })).toEqual(solo.ask({ type: 'lock', lock: 'l' }));
    expect(other.machine.digest).toBe(solo.machine.digest);
    const [outputs, others] = [solo, other].map((each) => {
      for (const session of this.#sessions) each.expire(session.id);
      return each.outputs;
    });
    expect(others).toEqual(outputs);
    expect(other.machine.digest).toBe(solo.machine.digest);
    expect(solo.machine.counts).toMatchObject({ locks: 0, holds: 0, waits: 0, dataBytes: 0 });
  }

  #acquire(session: SoloSession, request: R, wait: boolean): void {
    const expected = this.#model.acquire(session.id, request, wait, this.solo.index + 1);
    if (expected === 'limit') expect(session.refused('l', request, wait)).toMatch(/^LIMIT_EXCEEDED/);
    else if (expected === 'held') expect(() => session.take('l', request, wait)).toThrow('lockHeld');
    else {
      const { acquireIndex, token } = session.take('l', request, wait);
      expect({ acquireIndex, token }).toEqual({ acquireIndex: expected.acquireIndex, token: expected.token });
    }
  }

  #revoke(operator: SoloSession, place: Place<R> | undefined): void {
    if (place === undefined) return;
    const { session, acquireIndex } = place;
    expect(operator.send({ type: 'revoke', lock: 'l', session, acquireIndex })).toEqual({
      type: 'revoked',
      token: this.solo.index,
    });
    this.#model.remove([place], this.solo.index, true);
  }

  #change(what: 'release' | 'cancel' | 'convert', session: SoloSession, place: Place<R>, request: R): void {
    const acquire = { lock: 'l', acquireIndex: place.acquireIndex, token: place.token };
    const { token } = place;
    if (what === 'convert') {
      const { type } = session.convert(acquire, request);
      expect(type).toBe(this.#model.convert(place, request, this.solo.index) ? 'sharedAcquire' : 'error');
      return;
    }
    const reply = what === 'release' ? session.release(acquire) : session.cancel(acquire);
    if (what === 'release' && token === 0) return expect(reply).toMatchObject({ code: 'NOT_HELD' });
    expect(reply).toEqual(what === 'release' ? { type: 'done' } : { type: 'cancelled', token });
    this.#model.give(place, this.solo.index);
  }
}

function keepsItsPromise<R extends LockRequest>(kind: Kind<R>): void {
  fc.assert(
    fc.property(fc.array(move, { minLength: 5, maxLength: 60 }), (moves) => {
      const run = new Run(kind);
      for (const each of moves) {
        run.make(each);
        run.compare();
      }
      run.restored();
    }),
    { numRuns: 150 },
  );
}

describe('under random commands, what its model says', () => {
  it('is what a read-write lock does', () => keepsItsPromise(readWrite));
  it('is what a semaphore does', () => keepsItsPromise(semaphore));
  it('is what a reentrant lock does', () => keepsItsPromise(reentrant));
});
