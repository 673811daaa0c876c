import { CommandType } from '@holdfast/protocol';
import { encodeEntry, LATEST_STATE_VERSION, stampEntry } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

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
    const introduced = { acquire: LATEST_STATE_VERSION + 1 };
    const [older, newer] = [new Solo(), new Solo({}, { introduced })].map((solo) => solo.open());
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
