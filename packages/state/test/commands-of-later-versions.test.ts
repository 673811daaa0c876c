import { ClientFeature, CommandType, hasFeature, LockKind, pack } from '@holdfast/protocol';
import { encodeEntry, LATEST_STATE_VERSION, stampEntry, STATE_LIMITS } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { mutex } from '../src/locks/kinds/mutex.ts';
import { VERSIONS } from '../src/versions.ts';
import { bytesOf, restore } from './support/snapshots.ts';
import { acquireCommand, asReply, codeOf, only, Solo } from './support/solo.ts';

const UNKNOWN = 63;

describe("a client's command that the state version does not have", () => {
  it('is answered UNSUPPORTED once, and its session goes on', () => {
    const session = new Solo().open();
    session.number += 1;
    const entry = session.rawEntry(UNKNOWN, new Uint8Array([0xc1]), session.number);
    const { reply } = only(session.solo.apply(entry), 'reply');
    expect(codeOf(reply)).toBe('UNSUPPORTED');
    expect(only(session.solo.apply(entry), 'reply').reply).toEqual(reply);
    expect(session.acquire('a').token).toBe(session.solo.index);
  });

  it('is answered alike by a program that knows it, until the version is raised', () => {
    const commands = { ...VERSIONS.commands, acquire: LATEST_STATE_VERSION + 1 };
    const versions = { ...VERSIONS, commands };
    const [older, newer] = [new Solo(), new Solo({}, { versions })].map((solo) => solo.open());
    if (older === undefined || newer === undefined) throw new Error('no session');
    older.submit({ type: 'set', path: '/none', data: new Uint8Array(), version: -1 });
    const { reply } = only(newer.submit(acquireCommand('a')), 'reply');
    expect(codeOf(reply)).toBe('UNSUPPORTED');
    expect(asReply(reply, 'error').message).toContain(`command ${CommandType.acquire} is not of state version 1`);
    expect(newer.solo.queue('a')).toEqual([]);
    const unknown = older.rawEntry(UNKNOWN, new Uint8Array(), 2);
    const known = newer.entry(acquireCommand('a'), 2);
    older.solo.apply(unknown);
    expect(only(older.solo.outputs, 'reply')).toMatchObject({ number: 2, reply: { code: 'UNSUPPORTED' } });
    newer.solo.apply(known);
    expect(only(newer.solo.outputs, 'reply')).toMatchObject({ number: 2, reply: { code: 'UNSUPPORTED' } });
  });

  it('is refused like any other where its session does not live', () => {
    const solo = new Solo();
    const header = { command: UNKNOWN, generation: 1, session: 9, number: 1, ackedUpTo: 0 };
    const entry = encodeEntry(header, new Uint8Array());
    stampEntry(entry, 0, 1);
    expect(only(solo.apply(entry), 'refused').code).toBe('SESSION_EXPIRED');
  });
});

describe('an acquire of a kind of lock that the state version does not have', () => {
  const LATER = 1;
  const acquireOf = (kind: number, lock = 'a') => ({ type: 'acquire', lock, kind, wait: true }) as const;

  it('is answered UNSUPPORTED once, leaves nothing, and its session goes on', () => {
    const session = new Solo().open();
    const { solo } = session;
    const nodes = solo.machine.counts.nodes;
    const entry = session.entry(acquireOf(LATER), 1);
    session.number = 1;
    const { reply } = only(solo.apply(entry), 'reply');
    expect(codeOf(reply)).toBe('UNSUPPORTED');
    expect(asReply(reply, 'error').message).toContain(`lock kind ${LATER} is not of state version 1`);
    expect(solo.machine.counts).toMatchObject({ locks: 0, holds: 0, waits: 0, nodes });
    expect(only(solo.apply(entry), 'reply').reply).toEqual(reply);
    expect(session.acquire('a').token).toBe(solo.index);
    // Nor does it get in where there is a lock already.
    expect(codeOf(session.send(acquireOf(255)))).toBe('UNSUPPORTED');
    expect(solo.queue('a')).toHaveLength(1);
  });

  it('is answered alike by a program that knows it, until the version is raised', () => {
    const versions = { ...VERSIONS, lockKinds: [{ ...mutex, since: LATEST_STATE_VERSION }] };
    const newer = new Solo({}, { versions }).open();
    const early = newer.send(acquireCommand('a'));
    expect(codeOf(early)).toBe('UNSUPPORTED');
    expect(asReply(early, 'error').message).toContain(`lock kind ${LockKind.mutex} is not of state version 1`);
    raise(newer.solo, LATEST_STATE_VERSION);
    expect(newer.acquire('a').token).toBe(newer.solo.index);
  });

  it.each([
    ['whose last field is not what it must be', pack(['a', LATER, 'later'])],
    ['with fields behind it', pack(['a', LATER, true, 1])],
    ['of a kind that no version can have', pack(['a', 256, true])],
  ])('%s is a bad argument to every program', (_, payload) => {
    const session = new Solo().open();
    const { reply } = only(session.solo.apply(session.rawEntry(CommandType.acquire, payload, 1)), 'reply');
    expect(codeOf(reply)).toBe('INVALID_ARGUMENT');
  });

  it('is judged before the name of the lock, which the rules of that kind may allow', () => {
    const session = new Solo().open();
    expect(codeOf(session.send(acquireOf(LATER, '')))).toBe('UNSUPPORTED');
    expect(codeOf(session.send(acquireOf(LockKind.mutex, '')))).toBe('INVALID_ARGUMENT');
  });
});

describe('a node of a mode that the state version does not have', () => {
  const createOf = (mode: number) => ({ type: 'create', path: '/a', data: new Uint8Array(), mode }) as const;

  it('is answered UNSUPPORTED once, leaves nothing, and its session goes on', () => {
    const session = new Solo().open();
    const { nodes } = session.solo.machine.counts;
    const reply = session.send(createOf(4));
    expect(codeOf(reply)).toBe('UNSUPPORTED');
    expect(asReply(reply, 'error').message).toContain('create mode 4 is not of state version 1');
    expect(session.resend(1, createOf(4))).toEqual(reply);
    expect(session.solo.machine.counts.nodes).toBe(nodes);
    expect(session.made('/a')).toBe('/a');
  });

  it('is answered alike by a program that knows it, until the version is raised', () => {
    const createModes = { ...VERSIONS.createModes, ephemeral: LATEST_STATE_VERSION };
    const newer = new Solo({}, { versions: { ...VERSIONS, createModes } }).open();
    const early = newer.create('/a', { ephemeral: true });
    expect(asReply(early, 'error').message).toContain('create mode 1 is not of state version 1');
    raise(newer.solo, LATEST_STATE_VERSION);
    expect(newer.made('/a', { ephemeral: true })).toBe('/a');
  });
});

describe('a limit that a later state version changes', () => {
  const more = { since: LATEST_STATE_VERSION, limits: { maxAcquiresPerSession: 2, leastReplyBytesPerSession: 9_000 } };
  const versions = { ...VERSIONS, limits: [{ since: 1, limits: { maxAcquiresPerSession: 1 } }, more] };

  it('holds from the entry on that raises the version, and after a restore', () => {
    const solo = new Solo({}, { versions });
    const session = solo.open();
    session.acquire('a');
    expect(codeOf(session.send(acquireCommand('b')))).toBe('LIMIT_EXCEEDED');
    raise(solo, LATEST_STATE_VERSION);
    const restored = new Solo({}, { versions });
    restore(bytesOf(solo.machine), solo.index, restored.machine);
    for (const each of [session, session.in(restored)]) {
      expect(each.acquire('c').token).toBe(each.solo.index);
      expect(codeOf(each.send(acquireCommand('d')))).toBe('LIMIT_EXCEEDED');
    }
    expect(restored.machine.digest).toBe(solo.machine.digest);
  });

  it('gives way to one that the machine was made with', () => {
    const session = new Solo({ maxAcquiresPerSession: 3 }, { versions }).open();
    for (const lock of ['a', 'b', 'c']) session.acquire(lock);
    expect(codeOf(session.send(acquireCommand('d')))).toBe('LIMIT_EXCEEDED');
  });

  it('of what sessions remember counts at once', () => {
    const limits = [
      { since: 1, limits: { ...STATE_LIMITS, leastReplyBytesPerSession: 1, maxReplyBytesPerSession: 1 } },
      { since: LATEST_STATE_VERSION, limits: STATE_LIMITS },
    ];
    const session = new Solo({}, { versions: { ...VERSIONS, limits } }).open();
    session.acquire('a');
    session.submit(acquireCommand('b'));
    expect(only(session.solo.outputs, 'refused').code).toBe('OVERLOADED');
    session.number -= 1;
    raise(session.solo, LATEST_STATE_VERSION);
    expect(session.acquire('b').token).toBe(session.solo.index);
  });
});

describe('what a server may offer to clients', () => {
  it('grows when the state version is raised', () => {
    const clientFeatures = { ...VERSIONS.clientFeatures, leave: LATEST_STATE_VERSION };
    const solo = new Solo({}, { versions: { ...VERSIONS, clientFeatures } });
    const offers = (): boolean[] => {
      return [ClientFeature.leave, ClientFeature.admin].map((each) => hasFeature(solo.machine.clientFeatures, each));
    };
    expect(offers()).toEqual([false, true]);
    raise(solo, LATEST_STATE_VERSION);
    expect(offers()).toEqual([true, true]);
  });
});

function raise(solo: Solo, version: number): void {
  const header = { command: CommandType.raiseStateVersion, generation: 0, session: 0, number: 0, ackedUpTo: 0 };
  solo.apply(encodeEntry(header, pack([version])));
}
