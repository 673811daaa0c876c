import { InvariantError, StateMachine, type StateMachineOptions } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { acquireCommand, Solo, text, type SoloSession } from '../support/solo.ts';
import { bytesOf, copyOf, joined, rest, restore } from '../support/snapshots.ts';

/** An ensemble with something of everything, and slots of removed nodes. */
function lively(options: Pick<StateMachineOptions, 'hashKey'> = {}): {
  readonly solo: Solo;
  readonly sessions: readonly SoloSession[];
} {
  const solo = new Solo({}, options);
  const sessions = ['one', 'two', 'three'].map((label) => solo.open(label));
  const [one, two, three] = sessions as [SoloSession, SoloSession, SoloSession];
  one.made('/a', { data: 'first' });
  one.made('/b');
  two.made('/a/e', { ephemeral: true });
  one.delete('/b');
  three.made('/a/ü-', { sequential: true, data: 'second' });
  const held = one.acquire('lock');
  two.acquire('lock');
  three.acquire('lock');
  three.acquire('other/lock');
  one.release(held);
  one.acquire('lock');
  one.create('/no/where');
  return { solo, sessions };
}

function nodeData(machine: StateMachine, path: string): string | undefined {
  const answer = machine.query({ type: 'get', path });
  return answer.type === 'get' ? text(answer.data) : undefined;
}

describe('a snapshot', () => {
  it('restores everything that queries show, counts and the digest', () => {
    const { solo } = lively();
    const { machine } = solo;
    const copy = copyOf(machine);
    expect([copy.appliedIndex, copy.digest, copy.counts]).toEqual([
      machine.appliedIndex,
      machine.digest,
      machine.counts,
    ]);
    expect(copy.sessions()).toEqual(machine.sessions());
    for (const lock of ['lock', 'other/lock']) {
      expect(copy.query({ type: 'lock', lock })).toEqual(machine.query({ type: 'lock', lock }));
    }
    for (const path of ['/', '/a', '/a/e', '/holdfast/locks', '/holdfast/locks/lock']) {
      expect(copy.query({ type: 'get', path })).toEqual(machine.query({ type: 'get', path }));
      expect(copy.query({ type: 'children', path })).toEqual(machine.query({ type: 'children', path }));
    }
  });

  it.each([
    ['one byte a unit', 'plain'],
    ['one byte a unit beyond ASCII', 'ÿ-é-\u00a0-ü'],
    ['two bytes a unit', '日本-ключ'],
    ['a great length', 'é'.repeat(900)],
  ])('keeps names of %s', (_, name) => {
    const solo = new Solo();
    const session = solo.open();
    session.made(`/${name}`, { data: 'kept' });
    const copy = copyOf(solo.machine);
    expect(nodeData(copy, `/${name}`)).toBe('kept');
    expect(bytesOf(copy)).toEqual(bytesOf(solo.machine));
  });

  it('is of the index at which it was begun, whatever is applied while it is handed out', () => {
    const { solo, sessions } = lively();
    const [one, two, three] = sessions as [SoloSession, SoloSession, SoloSession];
    const { index } = solo;
    const before = copyOf(solo.machine);
    const snapshot = solo.machine.beginSnapshot();
    const pieces = [snapshot.next(1) ?? new Uint8Array()];
    one.set('/a', 'changed');
    two.delete('/a/e');
    three.made('/c', { data: 'born later' });
    two.close();
    one.made('/d');
    one.attachAgain();
    solo.open('born later');
    pieces.push(rest(snapshot));
    const restored = restore(joined(pieces), index);
    expect([restored.appliedIndex, restored.digest]).toEqual([index, before.digest]);
    expect(nodeData(restored, '/a')).toBe('first');
    expect(nodeData(restored, '/c')).toBeUndefined();
    expect(bytesOf(restored)).toEqual(bytesOf(before));
  });

  it('is handed out in the room that it is given, where that is large enough', () => {
    const { solo } = lively();
    const bytes = bytesOf(solo.machine);
    const snapshot = solo.machine.beginSnapshot();
    const room = new Uint8Array(64);
    const pieces: Uint8Array[] = [];
    for (let piece = snapshot.next(64, room); piece !== undefined; piece = snapshot.next(64, room)) {
      expect(piece.buffer).toBe(room.buffer);
      pieces.push(piece.slice());
    }
    expect(joined(pieces)).toEqual(bytes);
    expect(solo.machine.beginSnapshot().next(65, room)?.buffer).not.toBe(room.buffer);
  });

  it('remembers what became of an acquire that was gone by then, and of none that went later', () => {
    const solo = new Solo();
    const one = solo.open();
    const gone = one.acquire('gone');
    const later = one.acquire('later');
    one.release(gone);
    const { index } = solo;
    const snapshot = solo.machine.beginSnapshot();
    // Revoked by another session: its own has not changed otherwise.
    const other = solo.open();
    other.delete('/holdfast/locks/later/q-0000000000');
    const restored = restore(rest(snapshot), index);
    const retry = (number: number, lock: string): unknown =>
      restored.apply(restored.appliedIndex + 1, one.entry(acquireCommand(lock), number));
    expect(retry(1, 'gone')).toMatchObject([{ reply: { type: 'error', code: 'NOT_HELD' } }]);
    expect(retry(2, 'later')).toMatchObject([{ reply: { type: 'acquire', token: later.token } }]);
  });

  it('is the same bytes from whatever machine has that state, however it is cut', () => {
    const { solo } = lively();
    const bytes = bytesOf(solo.machine);
    expect(rest(solo.machine.beginSnapshot(), 1)).toEqual(bytes);
    const copy = restore(bytes, solo.index, new StateMachine(), 1);
    expect(bytesOf(copy)).toEqual(bytes);
    expect(bytesOf(copyOf(copy))).toEqual(bytes);
  });

  it('is the same bytes whatever key each machine looks for nodes by', () => {
    const one = lively({ hashKey: { low: 1, high: 2 } }).solo;
    const other = lively({ hashKey: { low: 3, high: 4 } }).solo;
    const bytes = bytesOf(one.machine);
    expect(bytesOf(other.machine)).toEqual(bytes);
    expect(other.machine.digest).toBe(one.machine.digest);
    const copy = restore(bytes, one.index, new StateMachine({ hashKey: { low: 5, high: 6 } }));
    expect(bytesOf(copy)).toEqual(bytes);
    expect(nodeData(copy, '/a')).toBe('first');
  });

  it('of nothing but the beginning is one, too', () => {
    const copy = restore(bytesOf(new StateMachine()), 0);
    expect([copy.appliedIndex, copy.counts.nodes]).toEqual([0, 3]);
  });

  it('is taken one at a time, until it was handed out or cancelled', () => {
    const { machine } = lively().solo;
    const first = machine.beginSnapshot();
    expect(() => machine.beginSnapshot()).toThrow(InvariantError);
    first.cancel();
    expect(() => first.next(1)).toThrow(InvariantError);
    const second = machine.beginSnapshot();
    rest(second);
    second.cancel();
    expect(machine.beginSnapshot().index).toBe(machine.appliedIndex);
  });

  it('goes on being what it was when the machine is restored meanwhile', () => {
    const { solo } = lively();
    const bytes = bytesOf(solo.machine);
    const snapshot = solo.machine.beginSnapshot();
    const start = snapshot.next(1) ?? new Uint8Array();
    restore(bytesOf(new StateMachine()), 0, solo.machine);
    expect(joined([start, rest(snapshot)])).toEqual(bytes);
  });

  it('keeps queues in the order of their acquires, though their nodes lie in slots that were used before', () => {
    const solo = new Solo();
    const sessions = Array.from({ length: 6 }, () => solo.open());
    const [first, ...others] = sessions as [SoloSession, ...SoloSession[]];
    const paths = others.map((session, n) => session.made(`/${n}`));
    const held = first.acquire('lock');
    for (const path of paths.toReversed()) first.delete(path);
    for (const session of others) session.acquire('lock');
    const copy = copyOf(solo.machine);
    expect(copy.query({ type: 'lock', lock: 'lock' })).toEqual(solo.machine.query({ type: 'lock', lock: 'lock' }));
    const release = first.entry({ type: 'release', ...held }, first.number + 1);
    expect(copy.apply(copy.appliedIndex + 1, release)).toContainEqual(
      expect.objectContaining({ type: 'granted', session: others[0]?.id }),
    );
  });
});
