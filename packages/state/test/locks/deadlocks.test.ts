/** Deadlocks: which are found, in what words, and which waits end by them. */

import type { Acquire, DeadlockStep, LockRequest } from '@holdfast/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bytesOf, copyOf } from '../support/snapshots.ts';
import { all, asReply, codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };
const permits = (count: number, limit: number): LockRequest => ({ type: 'semaphore', permits: count, limit });

function four(): readonly [Solo, SoloSession, SoloSession, SoloSession, SoloSession] {
  const solo = new Solo().raise();
  const open = (task: number): SoloSession => solo.open(`task ${task}`);
  return [solo, open(1), open(2), open(3), open(4)];
}

function listed(solo: Solo, after = 0, limit = 100): readonly (readonly DeadlockStep[])[] {
  return solo.ask({ type: 'deadlocks', after, limit }).deadlocks.map(({ steps }) => steps);
}

/** `session holds lock, waits for lock` of each, with the acquire that it is behind. */
function told(solo: Solo): readonly (readonly string[])[] {
  return listed(solo).map((steps) =>
    steps.map(({ session, holds, waitsFor, behind }) => {
      return `${session}: ${holds} -> ${waitsFor}${behind === 0 ? '' : ` behind ${behind}`}`;
    }),
  );
}

function waits(session: SoloSession, lock: string): number {
  const { token, acquireIndex } = session.acquire(lock);
  expect(token).toBe(0);
  return acquireIndex;
}

describe('two sessions that each wait for a lock of the other', () => {
  it('are a deadlock, told from the youngest wait on, with locks, tokens and since when', () => {
    const [solo, a, b] = four();
    const x = a.acquire('x');
    const y = b.acquire('y');
    solo.wallMs = 2_000_000;
    const first = waits(a, 'y');
    expect(listed(solo)).toEqual([]);
    solo.wallMs = 3_000_000;
    const second = waits(b, 'x');
    expect(listed(solo)).toEqual([
      [
        {
          session: b.id,
          label: 'task 2',
          holds: 'y',
          token: y.token,
          waitsFor: 'x',
          acquireIndex: second,
          since: 3_000_000,
          behind: 0,
        },
        {
          session: a.id,
          label: 'task 1',
          holds: 'x',
          token: x.token,
          waitsFor: 'y',
          acquireIndex: first,
          since: 2_000_000,
          behind: 0,
        },
      ],
    ]);
  });

  it('are none any more once one of them has given up, released, or ended', () => {
    const ends: readonly ((b: SoloSession, wait: number, y: Acquire) => unknown)[] = [
      (b, acquireIndex) => b.cancel({ lock: 'x', acquireIndex }),
      (b, _wait, y) => b.release(y),
      (b) => b.solo.expire(b.id),
    ];
    for (const end of ends) {
      const [solo, a, b] = four();
      a.acquire('x');
      const y = b.acquire('y');
      waits(a, 'y');
      const wait = waits(b, 'x');
      expect(told(solo)).toHaveLength(1);
      end(b, wait, y);
      expect(told(solo)).toEqual([]);
    }
  });

  it('are told to a wait that asks, and to one that is not in it nothing', () => {
    const [solo, a, b, c] = four();
    a.acquire('x');
    b.acquire('y');
    const first = waits(a, 'y');
    const second = waits(b, 'x');
    const third = waits(c, 'x');
    const asked = solo.ask({ type: 'waitingFor', lock: 'y', acquireIndex: first });
    expect(asked.deadlock.map(({ session, acquireIndex }) => [session, acquireIndex])).toEqual([
      [a.id, first],
      [b.id, second],
    ]);
    expect(asked).toMatchObject({ before: 0, since: solo.wallMs, holders: [{ session: b.id }] });
    expect(solo.ask({ type: 'waitingFor', lock: 'x', acquireIndex: third })).toMatchObject({
      before: 1,
      holders: [{ session: a.id }],
      deadlock: [],
    });
    expect(solo.ask({ type: 'waitingFor', lock: 'x', acquireIndex: 1 })).toMatchObject({ since: 0, deadlock: [] });
    expect(codeOf(solo.query({ type: 'waitingFor', lock: '', acquireIndex: 1 }))).toBe('INVALID_ARGUMENT');
  });
});

describe('a deadlock', () => {
  it('goes over as many sessions as there are in it', () => {
    const [solo, a, b, c, d] = four();
    a.acquire('a');
    b.acquire('b');
    c.acquire('c');
    d.acquire('d');
    waits(a, 'b');
    waits(b, 'c');
    waits(c, 'd');
    expect(told(solo)).toEqual([]);
    waits(d, 'a');
    expect(told(solo)).toEqual([[`${d.id}: d -> a`, `${a.id}: a -> b`, `${b.id}: b -> c`, `${c.id}: c -> d`]]);
  });

  it('goes through whoever is before in a queue, and says so', () => {
    const [solo, a, b, c] = four();
    a.acquire('x');
    b.acquireAs('y', READ);
    // Only the writer keeps the next reader from joining those who read.
    const writer = asReply(c.acquireAs('y', WRITE), 'acquire').acquireIndex;
    a.acquireAs('y', READ);
    waits(b, 'x');
    expect(told(solo)).toEqual([[`${b.id}: y -> x`, `${a.id}: x -> y behind ${writer}`]]);
  });

  it('goes through an acquire of several locks in front, which holds none of them', () => {
    const [solo, a, b] = four();
    a.acquire('x');
    const both = asReply(b.acquireSeveral(['x', 'y']), 'acquire');
    expect(both.token).toBe(0);
    // Nobody holds y; it is kept for who waits for x as well.
    waits(a, 'y');
    expect(told(solo)).toEqual([[`${a.id}: x -> y behind ${both.acquireIndex}`]]);
  });

  it('can be one of two tasks of one session', () => {
    const [solo, a] = four();
    a.acquire('x');
    a.acquire('y');
    waits(a, 'y');
    expect(told(solo)).toEqual([]);
    waits(a, 'x');
    expect(told(solo)).toEqual([[`${a.id}: y -> x`, `${a.id}: x -> y`]]);
  });

  it('is none where a session waits for a lock that it holds: these are two tasks', () => {
    const [solo, a, b, c, d] = four();
    a.acquire('x');
    waits(a, 'x');
    b.acquireAs('r', READ);
    c.acquireAs('r', READ);
    d.acquireAs('r', WRITE);
    b.acquireAs('r', READ);
    c.acquireAs('r', READ);
    expect(told(solo)).toEqual([]);
  });

  it('is none where one of those who share a lock goes on, and frees what is enough', () => {
    const [solo, a, b, c] = four();
    a.acquireAs('pool', permits(1, 2));
    b.acquireAs('pool', permits(1, 2));
    c.acquire('x');
    c.acquireAs('pool', permits(1, 2));
    waits(a, 'x');
    expect(told(solo)).toEqual([]);
    // Now nobody is left who could give a permit back.
    waits(b, 'x');
    expect(told(solo)).toEqual([
      [`${a.id}: pool -> x`, `${c.id}: x -> pool`],
      [`${b.id}: pool -> x`, `${c.id}: x -> pool`],
    ]);
  });

  it('is none of waits that all wait for one who goes on', () => {
    const [solo, a, b, c] = four();
    a.acquire('x');
    b.acquire('y');
    waits(b, 'x');
    c.acquire('z');
    waits(c, 'y');
    expect(told(solo)).toEqual([]);
    waits(a, 'z');
    expect(told(solo)).toHaveLength(1);
  });
});

describe('the listing of deadlocks', () => {
  it('has a page of as many as are asked for, by the youngest wait of each', () => {
    const solo = new Solo().raise();
    const youngest = Array.from({ length: 5 }, (_, at) => {
      const [a, b] = [solo.open(), solo.open()];
      a.acquire(`x${at}`);
      b.acquire(`y${at}`);
      waits(a, `y${at}`);
      return waits(b, `x${at}`);
    });
    const pages: number[][] = [];
    for (let after = 0; pages.length < 4;) {
      const { deadlocks, more } = solo.ask({ type: 'deadlocks', after, limit: 2 });
      pages.push(deadlocks.map(({ steps }) => steps[0]?.acquireIndex ?? 0));
      after = pages.at(-1)?.at(-1) ?? 0;
      if (!more) break;
    }
    expect(pages).toEqual([youngest.slice(0, 2), youngest.slice(2, 4), youngest.slice(4)]);
  });

  it('is made in slices, between which entries are applied, and shows only what is there in the end', () => {
    const solo = new Solo().raise();
    const [a, b] = [solo.open(), solo.open()];
    a.acquire('x');
    b.acquire('y');
    waits(a, 'y');
    const wait = waits(b, 'x');
    for (let count = 0; count < 10_000; count += 1) solo.open();
    const query = { type: 'deadlocks', after: 0, limit: 10 } as const;
    expect(solo.machine.prepare(query)).toBe(false);
    b.cancel({ lock: 'x', acquireIndex: wait });
    let slices = 1;
    while (!solo.machine.prepare(query)) slices += 1;
    expect(slices).toBeLessThan(10);
    expect(solo.ask(query)).toEqual({ type: 'deadlocks', deadlocks: [], more: false, skipped: 0 });
  });

  it('says how many waits it did not look at to their end', () => {
    const solo = new Solo({ maxDeadlockVisits: 3 }).raise();
    const [a, b] = [solo.open(), solo.open()];
    a.acquire('x');
    b.acquire('y');
    for (let count = 0; count < 10; count += 1) solo.open().acquire('x');
    waits(b, 'x');
    expect(solo.ask({ type: 'deadlocks', after: 0, limit: 10 })).toMatchObject({ deadlocks: [], skipped: 1 });
  });
});

describe('an acquire that is to end in a deadlock', () => {
  it('is answered with the deadlock that it would have closed, and leaves nothing', () => {
    const [solo, a, b] = four();
    a.acquire('x');
    b.acquire('y');
    waits(a, 'y');
    const { counts } = solo.machine;
    const answer = asReply(b.acquireOrEnd(['x']), 'deadlock');
    expect(answer.steps.map(({ session, holds, waitsFor }) => [session, holds, waitsFor])).toEqual([
      [b.id, 'y', 'x'],
      [a.id, 'x', 'y'],
    ]);
    expect(solo.machine.counts).toEqual(counts);
    // Nothing of it is told to others either.
    expect(solo.outputs.map(({ type }) => type)).toEqual(['deadlocksSought', 'reply']);
    expect(only(solo.outputs, 'deadlocksSought')).toMatchObject({ ended: 1, gaveUp: false });
    expect(told(solo)).toEqual([]);
    // The same again for a retry.
    const asked = { type: 'acquireWith', locks: [{ lock: 'x', kind: 0 }], wait: true } as const;
    expect(b.resend(2, { ...asked, lockDelayMs: 0, abortInDeadlock: true })).toEqual(answer);
    expect(copyOf(solo.machine).digest).toBe(solo.machine.digest);
  });

  it('ends by the entry of another that closes the deadlock', () => {
    const [solo, a, b] = four();
    a.acquire('x');
    b.acquire('y');
    const wait = asReply(a.acquireOrEnd(['y']), 'acquire').acquireIndex;
    const second = waits(b, 'x');
    expect(only(solo.outputs, 'lost')).toMatchObject({
      session: a.id,
      lock: 'y',
      acquireIndex: wait,
      reason: 'deadlock',
      deadlock: [{ session: a.id }, { session: b.id, acquireIndex: second }],
    });
    expect(solo.outputs.map(({ type }) => type)).toEqual(['contended', 'lost', 'deadlocksSought', 'reply']);
    expect(solo.queue('y')).toEqual([`${b.id}@${solo.ask({ type: 'lock', lock: 'y' }).queue[0]?.token}`]);
  });

  it('is the youngest of those who have asked for it', () => {
    const [solo, a, b, c] = four();
    a.acquire('a');
    b.acquire('b');
    c.acquire('c');
    a.acquireOrEnd(['b']);
    const youngest = asReply(b.acquireOrEnd(['c']), 'acquire').acquireIndex;
    waits(c, 'a');
    expect(only(solo.outputs, 'lost')).toMatchObject({ session: b.id, acquireIndex: youngest });
    expect(told(solo)).toEqual([]);
  });

  it('ends by a grant that closes the deadlock, and whoever is granted by that is granted at once', () => {
    const [solo, a, b, c, d] = four();
    const x = a.acquire('x');
    b.acquire('y');
    // b is next for x, and c waits behind it with what b will want.
    const next = waits(b, 'x');
    c.acquire('z');
    const behind = asReply(c.acquireOrEnd(['x']), 'acquire').acquireIndex;
    waits(b, 'z');
    const last = waits(d, 'x');
    expect(told(solo)).toEqual([]);
    a.release(x);
    expect(all(solo.outputs, 'granted')).toMatchObject([{ session: b.id, acquireIndex: next }]);
    expect(only(solo.outputs, 'lost')).toMatchObject({ session: c.id, acquireIndex: behind, reason: 'deadlock' });
    expect(solo.ask({ type: 'lock', lock: 'x' }).queue.map(({ acquireIndex }) => acquireIndex)).toEqual([next, last]);
  });

  it('lets those behind it be granted by the same entry', () => {
    const [solo, a, b, c] = four();
    a.acquire('x');
    b.acquireAs('r', READ);
    const writer = asReply(a.acquireOrEnd([{ lock: 'r', asked: WRITE }]), 'acquire').acquireIndex;
    const reader = asReply(c.acquireAs('r', READ), 'acquire').acquireIndex;
    waits(b, 'x');
    expect(only(solo.outputs, 'lost')).toMatchObject({ acquireIndex: writer });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: reader, token: solo.index });
  });

  it('ends at all of its locks', () => {
    const [solo, a, b] = four();
    a.acquire('x');
    b.acquire('y');
    a.acquireOrEnd(['y', 'w', 'v']);
    waits(b, 'x');
    expect(only(solo.outputs, 'lost')).toMatchObject({ lock: 'v', session: a.id });
    expect(solo.machine.counts).toMatchObject({ locks: 2, waits: 1 });
  });

  it('breaks every deadlock that one entry closes', () => {
    const [solo, a, b, c] = four();
    a.acquireAs('r', READ);
    b.acquireAs('r', READ);
    c.acquire('x');
    a.acquireOrEnd(['x']);
    b.acquireOrEnd(['x']);
    c.acquireAs('r', WRITE);
    expect(
      all(solo.outputs, 'lost')
        .map(({ session }) => session)
        .toSorted((l, r) => l - r),
    ).toEqual([a.id, b.id]);
    expect(only(solo.outputs, 'deadlocksSought')).toMatchObject({ ended: 2 });
    expect(told(solo)).toEqual([]);
  });

  it('waits on where nobody in the deadlock has asked for it, and where it only waits for those who are', () => {
    const [solo, a, b, c] = four();
    a.acquire('x');
    b.acquire('y');
    waits(a, 'y');
    waits(b, 'x');
    c.acquire('z');
    const outside = asReply(c.acquireOrEnd(['x']), 'acquire');
    expect(outside.token).toBe(0);
    expect(all(solo.outputs, 'lost')).toEqual([]);
    expect(told(solo)).toHaveLength(1);
  });

  it('waits on where it takes too much to find the deadlock, and the entry says so', () => {
    const solo = new Solo({ maxDeadlockVisits: 20 }).raise();
    const [a, b] = [solo.open(), solo.open()];
    a.acquire('x');
    b.acquire('y');
    waits(a, 'y');
    for (let count = 0; count < 30; count += 1) solo.open().acquire('x');
    expect(asReply(b.acquireOrEnd(['x']), 'acquire').token).toBe(0);
    expect(only(solo.outputs, 'deadlocksSought')).toEqual({ type: 'deadlocksSought', ended: 0, gaveUp: true });
  });

  it('is granted, and tried, as any other', () => {
    const [solo, a, b] = four();
    expect(asReply(a.acquireOrEnd(['x', 'y']), 'acquire').token).toBe(solo.index);
    expect(b.acquireOrEnd(['y'], { wait: false })).toMatchObject({ type: 'lockHeld', holder: { session: a.id } });
    expect(codeOf(b.acquireOrEnd([]))).toBe('INVALID_ARGUMENT');
    expect(codeOf(b.acquireOrEnd(['z', 'z']))).toBe('INVALID_ARGUMENT');
  });

  it('is UNSUPPORTED before state version 5', () => {
    const solo = new Solo().raise(4);
    expect(codeOf(solo.open().acquireOrEnd(['x']))).toBe('UNSUPPORTED');
  });
});

describe('a machine that was restored', () => {
  it('has the options of acquires, finds the same deadlocks, and ends the same waits', () => {
    const [solo, a, b, c] = four();
    a.acquire('x');
    b.acquire('y');
    c.acquire('z');
    a.acquireOrEnd(['y', 'v'], { lockDelayMs: 500 });
    b.acquireOrEnd(['z'], { lockDelayMs: 500, abortInDeadlock: false });
    const other = new Solo();
    Object.assign(other, { machine: copyOf(solo.machine) });
    expect(bytesOf(other.machine)).toEqual(bytesOf(solo.machine));
    const entry = c.entry({ type: 'acquire', lock: 'x', kind: 0, wait: true }, c.number + 1);
    expect(other.apply(entry)).toEqual(solo.apply(entry));
    expect(only(solo.outputs, 'lost')).toMatchObject({ session: a.id, reason: 'deadlock' });
    expect(other.machine.digest).toBe(solo.machine.digest);
  });
});

describe('deadlocks of random waits', () => {
  it('are found if and only if a session waits for itself over others', () => {
    const move = fc.record({ who: fc.nat(3), lock: fc.constantFrom('a', 'b', 'c', 'd'), gives: fc.nat(4) });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
        const [solo, ...sessions] = four();
        const held = new Map<string, { session: SoloSession; acquireIndex: number }>();
        for (const { who, lock, gives } of moves) {
          const session = sessions[who];
          if (session === undefined) continue;
          const owner = held.get(lock);
          if (gives === 0 && owner !== undefined) owner.session.release({ lock, acquireIndex: owner.acquireIndex });
          else session.acquire(lock);
          held.clear();
          for (const name of ['a', 'b', 'c', 'd']) {
            const [first] = solo.ask({ type: 'lock', lock: name }).queue;
            const holder = sessions.find(({ id }) => id === first?.session);
            if (first !== undefined && holder !== undefined) {
              held.set(name, { session: holder, acquireIndex: first.acquireIndex });
            }
          }
          expect(told(solo).length > 0).toBe(isStuck(solo));
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** Whether a lock can be come back to: from a lock to those for which its holder waits, but itself. Each is held by one, or not at all. */
function isStuck(solo: Solo): boolean {
  const names = ['a', 'b', 'c', 'd'];
  const queues = new Map(names.map((name) => [name, solo.ask({ type: 'lock', lock: name }).queue]));
  const next = (name: string): string[] => {
    const holder = queues.get(name)?.[0]?.session;
    return names.filter(
      (other) =>
        other !== name &&
        queues
          .get(other)
          ?.slice(1)
          .some(({ session }) => session === holder) === true,
    );
  };
  return names.some((start) => {
    const seen = new Set<string>();
    const open = next(start);
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (seen.has(name)) continue;
      seen.add(name);
      open.push(...next(name));
    }
    return seen.has(start);
  });
}
