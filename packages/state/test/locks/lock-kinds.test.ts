/** What kinds of locks may differ in, shown by one that no program has. */

import { CommandType, LockKind, MAX_LOCK_PARAMETERS_BYTES, pack, type Packable } from '@holdfast/protocol';
import { encodeEntry, LATEST_STATE_VERSION, SnapshotError, StateMachine } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { VERSIONS } from '../../src/versions.ts';
import { SHARED, VERSIONS_WITH_SHARED } from '../support/shared-kind.ts';
import { bytesOf, restore } from '../support/snapshots.ts';
import { acquireCommand, asReply, codeOf, only, Solo, type SoloSession } from '../support/solo.ts';

const READ = [true, 3];
const WRITE = [false, 3];

function ask(session: SoloSession, parameters: readonly Packable[], wait = true, lock = 'a') {
  return session.send({ type: 'acquire', lock, kind: SHARED, wait, parameters });
}

/** At the version from which on there is the kind. */
function withKind(): Solo {
  const solo = new Solo({}, { versions: VERSIONS_WITH_SHARED });
  const header = { command: CommandType.raiseStateVersion, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  solo.apply(encodeEntry(header, pack([LATEST_STATE_VERSION])));
  return solo;
}

describe('a lock whose kind lets several hold it', () => {
  it('is granted to all who may hold together, in the order of the queue, which nobody overtakes', () => {
    const solo = withKind();
    const [a, b, c, d, e] = Array.from({ length: 5 }, () => solo.open());
    if (!a || !b || !c || !d || !e) throw new Error('no session');
    const first = asReply(ask(a, READ), 'acquire');
    const second = asReply(ask(b, READ), 'acquire');
    expect(second.token).toBe(second.acquireIndex);
    const writer = asReply(ask(c, WRITE), 'acquire');
    ask(d, READ);
    ask(e, READ);
    expect(solo.queue('a')).toEqual([
      `${a.id}@${first.token}`,
      `${b.id}@${second.token}`,
      `${c.id}`,
      `${d.id}`,
      `${e.id}`,
    ]);
    a.release({ lock: 'a', acquireIndex: first.acquireIndex, token: first.token });
    expect(solo.outputs.filter(({ type }) => type === 'granted')).toEqual([]);
    b.release({ lock: 'a', acquireIndex: second.acquireIndex, token: second.token });
    expect(only(solo.outputs, 'granted')).toMatchObject({ session: c.id, token: solo.index });
    c.release({ lock: 'a', acquireIndex: writer.acquireIndex, token: writer.token });
    expect(solo.outputs.filter(({ type }) => type === 'granted')).toMatchObject([{ session: d.id }, { session: e.id }]);
    expect(solo.queue('a')).toEqual([`${d.id}@${solo.index}`, `${e.id}@${solo.index}`]);
  });

  it('is not free for a try that could not hold beside those who do, and for others it is', () => {
    const solo = withKind();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    ask(a, READ);
    expect(asReply(ask(b, WRITE, false), 'lockHeld').holder.session).toBe(a.id);
    expect(asReply(ask(b, READ, false), 'acquire').token).toBe(solo.index);
    expect(asReply(ask(c, [true, 2], false), 'lockHeld').holder.session).toBe(a.id);
  });

  it('shows its kind, and what each of the queue has asked for', () => {
    const solo = withKind();
    ask(solo.open(), READ);
    ask(solo.open(), WRITE);
    solo.open().acquire('b');
    const shown = solo.ask({ type: 'lock', lock: 'a' });
    expect(shown).toMatchObject({ kind: SHARED, queue: [{ parameters: READ }, { parameters: WRITE }] });
    expect(solo.ask({ type: 'locks', prefix: '', after: '', limit: 9 }).locks).toMatchObject([
      { lock: 'a', kind: SHARED, holders: [{ parameters: READ }] },
      { lock: 'b', kind: LockKind.mutex, holders: [{ parameters: [] }] },
    ]);
  });

  it('is the same after a restore, and goes on alike', () => {
    const solo = withKind();
    const [a, b, c] = [solo.open(), solo.open(), solo.open()];
    const read = asReply(ask(a, READ), 'acquire');
    ask(b, WRITE);
    ask(c, READ);
    const bytes = bytesOf(solo.machine);
    const restored = new Solo({}, { versions: VERSIONS_WITH_SHARED });
    restore(bytes, solo.index, restored.machine);
    expect(bytesOf(restored.machine)).toEqual(bytes);
    expect(restored.ask({ type: 'lock', lock: 'a' })).toEqual(solo.ask({ type: 'lock', lock: 'a' }));
    const outputs = [a, a.in(restored)].map((session) => {
      session.release({ lock: 'a', acquireIndex: read.acquireIndex, token: read.token });
      return session.solo.outputs;
    });
    expect(outputs[0]).toEqual(outputs[1]);
    expect(restored.machine.digest).toBe(solo.machine.digest);
  });

  it('is refused by name where a snapshot with it is restored by a program that reads no parameters', () => {
    const solo = withKind();
    ask(solo.open(), READ);
    const older = new StateMachine({ versions: { ...VERSIONS, snapshotFeatures: [] } });
    expect(() => restore(bytesOf(solo.machine), solo.index, older)).toThrow(
      'has the feature "parameters of lock requests" (1)',
    );
  });

  it('of a kind that the restoring program has not is refused, too', () => {
    const solo = withKind();
    ask(solo.open(), READ);
    expect(() => restore(bytesOf(solo.machine), solo.index)).toThrow(SnapshotError);
  });
});

describe('parameters of a request for a lock', () => {
  it.each([
    ['of the wrong type', [1, 3]],
    ['too few', [true]],
    ['too many', [true, 3, 4]],
    ['that the kind refuses', [true, 0]],
    ['none where some are needed', []],
  ])('%s are a bad argument, and leave nothing', (_, parameters) => {
    const solo = withKind();
    const { nodes } = solo.machine.counts;
    const session = solo.open();
    expect(codeOf(ask(session, parameters))).toBe('INVALID_ARGUMENT');
    expect(solo.machine.counts).toMatchObject({ nodes, locks: 0 });
    expect(asReply(ask(session, READ), 'acquire').token).toBe(solo.index);
  });

  it('are not for the mutex', () => {
    const session = new Solo().open();
    const reply = session.send({ ...acquireCommand('a'), parameters: [true] } as never);
    expect(asReply(reply, 'error')).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'a request for a lock of kind mutex has 1 parameters too many',
    });
  });

  it('are read by nobody while the state version has no such kind, so that all answer alike', () => {
    const [older, newer] = [new Solo(), new Solo({}, { versions: VERSIONS_WITH_SHARED })].map((solo) => solo.open());
    for (const session of [older, newer]) {
      if (session === undefined) throw new Error('no session');
      expect(codeOf(ask(session, READ))).toBe('UNSUPPORTED');
      expect(codeOf(ask(session, ['not what it takes', new Uint8Array(3)]))).toBe('UNSUPPORTED');
      const long = pack(['a', SHARED, true, [new Uint8Array(MAX_LOCK_PARAMETERS_BYTES)]]);
      expect(codeOf(only(session.solo.apply(session.rawEntry(CommandType.acquire, long, 3)), 'reply').reply)).toBe(
        'INVALID_ARGUMENT',
      );
    }
    expect(newer?.solo.machine.digest).toBe(older?.solo.machine.digest);
  });

  it('count as data of the tree', () => {
    const solo = withKind();
    const session = solo.open();
    const { dataBytes } = solo.machine.counts;
    const { acquireIndex, token } = asReply(ask(session, READ), 'acquire');
    expect(solo.machine.counts.dataBytes).toBeGreaterThan(dataBytes);
    session.release({ lock: 'a', acquireIndex, token });
    expect(solo.machine.counts.dataBytes).toBe(dataBytes);
    const full = new Solo({ maxTreeDataBytes: 1 }, { versions: VERSIONS_WITH_SHARED });
    full.apply(
      encodeEntry(
        { command: CommandType.raiseStateVersion, generation: 0, session: 0, number: 0, ackedUpTo: 0 },
        pack([LATEST_STATE_VERSION]),
      ),
    );
    const one = full.open();
    expect(codeOf(ask(one, READ))).toBe('LIMIT_EXCEEDED');
    expect(one.acquire('b').token).toBe(full.index);
  });
});
