/** A lock whose holder was lost is granted to nobody until the delay is over that the holder had asked for. */

import { acquireCommand as askFor, MAX_LOCK_DELAY_MS, MUTEX, type Acquire, type LockRequest } from '@holdfast/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ExtraTag } from '../../src/tree/extra-tag.ts';
import { bytesOf, copyOf, restore } from '../support/snapshots.ts';
import { all, asReply, codeOf, only, operation, Solo, type SoloSession } from '../support/solo.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const DELAY_MS = 5_000;

function begin(count: number, limits = {}): { solo: Solo; sessions: SoloSession[] } {
  const solo = new Solo(limits).raise();
  return { solo, sessions: Array.from({ length: count }, () => solo.open()) };
}

function session(sessions: readonly SoloSession[], at: number): SoloSession {
  const found = sessions[at];
  if (found === undefined) throw new Error(`there is no session ${at}`);
  return found;
}

function delayOf(solo: Solo, lock: string) {
  return solo.ask({ type: 'lock', lock }).delay;
}

/** The same machine after a restart from its snapshot. */
function restored(solo: Solo): Solo {
  const copy = new Solo();
  Object.assign(copy, { machine: copyOf(solo.machine) });
  return copy;
}

type Named = Pick<Acquire, 'lock' | 'acquireIndex'>;

const LOSSES: readonly (readonly [string, (solo: Solo, holder: SoloSession) => unknown])[] = [
  ['its session expires', (solo, holder) => solo.expire(holder.id)],
  ['an operator closes its session', (solo, holder) => solo.open().close(holder.id)],
  [
    'an operator revokes it',
    (solo) => {
      const [hold] = solo.ask({ type: 'lock', lock: 'l' }).queue;
      return solo.open().revoke({ lock: 'l', acquireIndex: hold?.acquireIndex ?? 0 });
    },
  ],
  ['its node is deleted', (solo) => solo.open().delete('/holdfast/locks/l/q-0000000000')],
  ['a transaction deletes its node', (solo) => solo.open().done([operation.delete('/holdfast/locks/l/q-0000000000')])],
];

const GIVEN_BACK: readonly (readonly [string, (holder: SoloSession, held: Named) => unknown])[] = [
  ['releases it', (holder, held) => holder.release(held)],
  ['cancels it', (holder, held) => holder.cancel(held)],
  ['closes its session', (holder) => holder.close()],
];

describe('a hold with a delay', () => {
  it.each(LOSSES)('delays its lock when %s', (_, lose) => {
    const { solo, sessions } = begin(2);
    const [holder, waiter] = [session(sessions, 0), session(sessions, 1)];
    const held = holder.acquireDelayed('l', DELAY_MS);
    const waiting = waiter.acquire('l');
    lose(solo, holder);
    const { index } = solo;
    expect(all(solo.outputs, 'granted')).toEqual([]);
    expect(only(solo.outputs, 'lockDelayed')).toEqual({ type: 'lockDelayed', lock: 'l', index, delayMs: DELAY_MS });
    expect(delayOf(solo, 'l')).toEqual({ index, delayMs: DELAY_MS, since: solo.wallMs, token: held.token });
    expect(solo.queue('l')).toEqual([`${waiter.id}`]);
    expect(solo.machine.lockDelays()).toEqual([{ lock: 'l', index, delayMs: DELAY_MS }]);
    expect(solo.endLockDelay('l', index)).toMatchObject([
      { type: 'lockDelayEnded', lock: 'l', index },
      { type: 'granted', session: waiter.id, acquireIndex: waiting.acquireIndex, token: index + 1 },
    ]);
    expect(delayOf(solo, 'l')).toBeUndefined();
    expect(solo.machine.delayedLocks).toBe(0);
  });

  it.each(GIVEN_BACK)('delays nothing when its owner %s', (_, giveBack) => {
    const { solo, sessions } = begin(2);
    const [holder, waiter] = [session(sessions, 0), session(sessions, 1)];
    const held = holder.acquireDelayed('l', DELAY_MS);
    waiter.acquire('l');
    giveBack(holder, held);
    expect(solo.queue('l')).toEqual([`${waiter.id}@${solo.index}`]);
    expect(solo.machine.lockDelays()).toEqual([]);
  });

  it('delays nothing when it still waited', () => {
    const { solo, sessions } = begin(3);
    const [holder, waiter, next] = [session(sessions, 0), session(sessions, 1), session(sessions, 2)];
    const held = holder.acquire('l');
    waiter.acquireDelayed('l', DELAY_MS);
    next.acquire('l');
    solo.expire(waiter.id);
    holder.release(held);
    expect(solo.queue('l')).toEqual([`${next.id}@${solo.index}`]);
  });

  it('delays each of its locks, and whoever waits for one of them and others', () => {
    const { solo, sessions } = begin(3);
    const [holder, several, other] = [session(sessions, 0), session(sessions, 1), session(sessions, 2)];
    asReply(holder.acquireWith(['a', 'b'], { lockDelayMs: DELAY_MS }), 'acquire');
    several.acquireSeveral(['b', 'c']);
    solo.expire(holder.id);
    const { index } = solo;
    expect(all(solo.outputs, 'lockDelayed').map(({ lock }) => lock)).toEqual(['a', 'b']);
    other.acquire('c');
    solo.endLockDelay('a', index);
    expect(solo.queue('a')).toEqual([]);
    expect(solo.queue('c')).toEqual([`${several.id}`, `${other.id}`]);
    solo.endLockDelay('b', index);
    expect(solo.queue('b')).toEqual([`${several.id}@${solo.index}`]);
    expect(solo.queue('c')).toEqual([`${several.id}@${solo.index}`, `${other.id}`]);
  });
});

describe('a delayed lock', () => {
  it('is kept though it is idle, is shown, and leaves nothing when the delay is over', () => {
    const { solo, sessions } = begin(1);
    const { counts } = solo.machine;
    const { token } = session(sessions, 0).acquireDelayed('l', DELAY_MS);
    solo.expire(session(sessions, 0).id);
    expect(solo.machine.counts).toMatchObject({ locks: 1, holds: 0, waits: 0, nodes: counts.nodes + 1 });
    const { locks } = solo.ask({ type: 'locks', prefix: '', after: '', limit: 10 });
    expect(locks).toEqual([
      {
        lock: 'l',
        holders: [],
        waiters: 0,
        kind: 0,
        delay: { index: solo.index, delayMs: DELAY_MS, since: solo.wallMs, token },
      },
    ]);
    solo.endLockDelay('l', solo.index);
    expect(solo.machine.counts).toEqual({ ...counts, sessions: 0 });
  });

  it('is refused to whoever is not to wait, by the token of the hold that was lost', () => {
    const { solo, sessions } = begin(2);
    const held = session(sessions, 0).acquireDelayed('l', DELAY_MS);
    solo.expire(session(sessions, 0).id);
    expect(session(sessions, 1).send(askFor('l', MUTEX, false))).toEqual({
      type: 'lockHeld',
      holder: { session: 0, label: '', token: held.token, acquireIndex: 0 },
    });
    expect(solo.machine.counts.waits).toBe(0);
  });

  it('takes waits, lets them be cancelled, and grants in their order', () => {
    const { solo, sessions } = begin(4);
    const [holder, a, b, c] = [0, 1, 2, 3].map((at) => session(sessions, at));
    holder?.acquireDelayed('l', DELAY_MS);
    solo.expire(holder?.id ?? 0);
    const { index } = solo;
    const first = a?.acquire('l');
    b?.acquire('l');
    c?.acquire('l');
    expect(solo.queue('l')).toEqual([a, b, c].map((each) => `${each?.id}`));
    if (first !== undefined) a?.cancel(first);
    expect(solo.queue('l')).toEqual([b, c].map((each) => `${each?.id}`));
    solo.endLockDelay('l', index);
    expect(solo.queue('l')).toEqual([`${b?.id}@${solo.index}`, `${c?.id}`]);
  });

  it('is delayed for the longest delay, from the last hold that was lost', () => {
    const { solo, sessions } = begin(3);
    const [a, b, next] = [session(sessions, 0), session(sessions, 1), session(sessions, 2)];
    a.acquireDelayed('l', DELAY_MS, READ);
    const second = b.acquireDelayed('l', 1_000, READ);
    solo.expire(a.id);
    const first = solo.index;
    // Who holds it goes on, and nobody joins.
    expect(solo.queue('l')).toEqual([`${b.id}@${second.token}`]);
    const waiting = asReply(next.acquireAs('l', READ), 'acquire');
    expect(waiting.token).toBe(0);
    solo.expire(b.id);
    expect(only(solo.outputs, 'lockDelayed')).toMatchObject({ index: solo.index, delayMs: DELAY_MS });
    expect(delayOf(solo, 'l')).toMatchObject({ token: second.token });
    // What the leader decided before is of no effect.
    expect(solo.endLockDelay('l', first)).toEqual([]);
    expect(delayOf(solo, 'l')).toBeDefined();
  });

  it('is delayed by all that one entry takes away once', () => {
    const { solo, sessions } = begin(1);
    const holder = session(sessions, 0);
    for (const delayMs of [1_000, 3_000, 2_000]) holder.acquireDelayed('l', delayMs, READ);
    solo.expire(holder.id);
    expect(only(solo.outputs, 'lockDelayed')).toMatchObject({ delayMs: 3_000 });
  });

  it('is freed by an operator who names the delay, and by nothing else that clients can do', () => {
    const { solo, sessions } = begin(3);
    const [holder, waiter, operator] = [session(sessions, 0), session(sessions, 1), session(sessions, 2)];
    holder.acquireDelayed('l', DELAY_MS);
    waiter.acquire('l');
    solo.expire(holder.id);
    const { index } = solo;
    expect(codeOf(operator.delete('/holdfast/locks/l'))).toBe('RESERVED_PATH');
    expect(codeOf(operator.revoke({ lock: 'l', acquireIndex: index + 1 }))).toBe('NOT_FOUND');
    expect(codeOf(operator.revoke({ lock: 'm', acquireIndex: index }))).toBe('NOT_FOUND');
    expect(delayOf(solo, 'l')).toBeDefined();
    expect(operator.revoke({ lock: 'l', acquireIndex: index })).toEqual({ type: 'revoked', index: solo.index });
    expect(only(solo.outputs, 'lockDelayEnded')).toMatchObject({ lock: 'l', index });
    expect(solo.queue('l')).toEqual([`${waiter.id}@${solo.index}`]);
  });

  it('stays what kind of lock it was', () => {
    const { solo, sessions } = begin(2);
    session(sessions, 0).acquireDelayed('l', DELAY_MS);
    solo.expire(session(sessions, 0).id);
    expect(codeOf(session(sessions, 1).acquireAs('l', READ))).toBe('INVALID_ARGUMENT');
  });

  it('stays one when a transaction takes all of its queue away, and its node with what may come behind', () => {
    const { solo, sessions } = begin(3);
    const [holder, waiter, operator] = [session(sessions, 0), session(sessions, 1), session(sessions, 2)];
    holder.acquireDelayed('l', DELAY_MS);
    waiter.acquire('l');
    const queue = '/holdfast/locks/l';
    const { delete: remove, check } = operation;
    operator.done([remove(`${queue}/q-0000000000`), remove(`${queue}/q-0000000001`), check(queue)]);
    expect(solo.queue('l')).toEqual([]);
    expect(delayOf(solo, 'l')).toMatchObject({ index: solo.index });
  });
});

describe('the delays of locks', () => {
  it('are as many as may become so at most, those who wait counted', () => {
    const { solo, sessions } = begin(3, { maxLockDelays: 3 });
    const [a, b, c] = [session(sessions, 0), session(sessions, 1), session(sessions, 2)];
    a.acquireDelayed('l', DELAY_MS);
    b.acquireDelayed('l', DELAY_MS);
    expect(codeOf(c.acquireWith(['x', 'y'], { lockDelayMs: 1 }))).toBe('LIMIT_EXCEEDED');
    const held = c.acquireDelayed('x', 1);
    expect(codeOf(c.acquireWith(['y'], { lockDelayMs: 1 }))).toBe('LIMIT_EXCEEDED');
    expect(c.acquire('z').token).toBe(solo.index);
    solo.expire(a.id);
    // It is delayed instead of held.
    expect(codeOf(c.acquireWith(['y'], { lockDelayMs: 1 }))).toBe('LIMIT_EXCEEDED');
    c.release(held);
    expect(c.acquireDelayed('y', 1).token).toBe(solo.index);
  });

  it('are UNSUPPORTED before state version 5', () => {
    const solo = new Solo().raise(4);
    expect(codeOf(solo.open().acquireWith(['l'], { lockDelayMs: 1 }))).toBe('UNSUPPORTED');
  });

  it('begin anew where a cluster does', () => {
    const { solo, sessions } = begin(1);
    session(sessions, 0).acquireDelayed('l', DELAY_MS);
    solo.machine.beginNewLife(solo.index + 1_000);
    expect(solo.machine.lockDelays()).toEqual([{ lock: 'l', index: solo.index, delayMs: DELAY_MS }]);
    expect(solo.machine.counts).toMatchObject({ sessions: 0, holds: 0, locks: 1 });
  });

  it('go on, on a restored machine, as on one that never was', () => {
    const move = fc.record({
      session: fc.nat(3),
      what: fc.constantFrom('delay', 'delay', 'plain', 'release', 'expire', 'end', 'late'),
      lock: fc.constantFrom('a', 'b'),
      delayMs: fc.integer({ min: 1, max: MAX_LOCK_DELAY_MS }),
    });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
        const { solo, sessions } = begin(4);
        for (const { session: at, what, lock, delayMs } of moves) {
          const each = session(sessions, at);
          if (solo.machine.session(each.id) === undefined) continue;
          if (what === 'delay') each.acquireDelayed(lock, delayMs, READ);
          else if (what === 'plain') each.acquireAs(lock, READ);
          else if (what === 'expire') solo.expire(each.id);
          else if (what === 'release') {
            const [own] = solo.machine.acquires(each.id);
            if (own !== undefined) each.cancel(own);
          } else {
            const [delay] = solo.machine.lockDelays();
            if (delay !== undefined) solo.endLockDelay(delay.lock, delay.index - (what === 'late' ? 1 : 0));
          }
          const copy = restored(solo);
          expect(bytesOf(copy.machine)).toEqual(bytesOf(solo.machine));
          expect(copy.machine.lockDelays()).toEqual(solo.machine.lockDelays());
          for (const { lock: name, index } of solo.machine.lockDelays()) expect(delayOf(solo, name)?.index).toBe(index);
        }
        const copy = restored(solo);
        for (const { lock, index } of solo.machine.lockDelays()) {
          expect(copy.endLockDelay(lock, index)).toEqual(solo.endLockDelay(lock, index));
        }
        for (const each of sessions) expect(copy.expire(each.id)).toEqual(solo.expire(each.id));
        expect(copy.machine.digest).toBe(solo.machine.digest);
      }),
      { numRuns: 40 },
    );
  });

  it('are refused in a snapshot where they cannot be', () => {
    const { solo, sessions } = begin(1);
    session(sessions, 0).acquireDelayed('l', DELAY_MS);
    solo.expire(session(sessions, 0).id);
    const good = bytesOf(solo.machine);
    const at = placeOfExtra(good, ExtraTag.lockDelay);
    const later = good.slice();
    new DataView(later.buffer).setFloat64(at, solo.index + 1, true);
    expect(() => restore(later, solo.index)).toThrow('has a delay of lock l that cannot be');
    const none = good.slice();
    new DataView(none.buffer).setUint32(at + 24, 0, true);
    expect(() => restore(none, solo.index)).toThrow('has a delay of lock l that cannot be');
  });
});

describe('options of an acquire', () => {
  it('are shown, kept in snapshots, and take no room where there are none', () => {
    const { solo, sessions } = begin(1);
    const holder = session(sessions, 0);
    const { dataBytes } = solo.machine.counts;
    asReply(holder.acquireWith(['a'], {}), 'acquire');
    expect(solo.machine.counts.dataBytes).toBe(dataBytes);
    holder.acquireDelayed('b', DELAY_MS);
    expect(solo.machine.counts.dataBytes).toBeGreaterThan(dataBytes);
    const copy = restored(solo);
    for (const machine of [solo, copy]) {
      expect(machine.ask({ type: 'lock', lock: 'a' }).queue[0]).not.toHaveProperty('lockDelayMs');
      expect(machine.ask({ type: 'lock', lock: 'b' }).queue[0]).toMatchObject({ lockDelayMs: DELAY_MS });
    }
    copy.expire(holder.id);
    expect(copy.machine.lockDelays()).toMatchObject([{ lock: 'b', delayMs: DELAY_MS }]);
  });

  it('are refused in a snapshot where they cannot be', () => {
    const { solo, sessions } = begin(1);
    const { acquireIndex } = session(sessions, 0).acquireDelayed('l', 1);
    const bad = bytesOf(solo.machine);
    // A tuple of one and false: the one becomes none, which is never kept.
    bad[placeOfExtra(bad, ExtraTag.acquireOptions) + 1] = 0;
    expect(() => restore(bad, solo.index)).toThrow(`has options of acquire ${acquireIndex} that cannot be`);
  });
});

/** Where in a snapshot the bytes of the first extra of that tag begin. */
function placeOfExtra(bytes: Uint8Array, tag: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let start = 104; start < bytes.length; start += 5 + view.getUint32(start, true)) {
    if (view.getUint8(start + 4) === 8 && view.getUint16(start + 9, true) === tag) return start + 11;
  }
  throw new Error(`there is no extra ${tag}`);
}
