import { describe, expect, it } from 'vitest';

import { codeOf, Solo } from '../support/solo.ts';

describe('the names of nodes', () => {
  it('are counted as they are kept, locks and queues included, and no more when they are gone', () => {
    const solo = new Solo();
    const session = solo.open();
    const before = solo.machine.counts.nameBytes;
    session.made('/narrow-ü');
    expect(solo.machine.counts.nameBytes - before).toBe(8);
    session.made('/wide-€');
    expect(solo.machine.counts.nameBytes - before).toBe(8 + 12);
    const held = session.acquire('lock');
    expect(solo.machine.counts.nameBytes - before).toBe(8 + 12 + 'lock'.length + 'q-0000000000'.length);
    session.release(held);
    session.delete('/wide-€');
    session.delete('/narrow-ü');
    expect(solo.machine.counts.nameBytes).toBe(before);
  });

  it('are LIMIT_EXCEEDED beyond their bound, also those of a lock, and what is there can be deleted', () => {
    const solo = new Solo({ maxTreeNameBytes: 2_100 });
    const session = solo.open();
    expect(session.made(`/${'a'.repeat(900)}`)).toHaveLength(901);
    session.acquire('lock');
    expect(codeOf(session.create(`/${'€'.repeat(1_000)}`))).toBe('LIMIT_EXCEEDED');
    session.made(`/${'c'.repeat(300)}`);
    expect(codeOf(session.send({ type: 'acquire', lock: 'other', kind: 0, wait: true }))).toBe('LIMIT_EXCEEDED');
    session.delete(`/${'a'.repeat(900)}`);
    expect(session.acquire('other').token).toBe(solo.index);
  });
});

describe('the ephemeral nodes of a session', () => {
  it('are LIMIT_EXCEEDED beyond their bound; other nodes and other sessions are not', () => {
    const solo = new Solo({ maxEphemeralsPerSession: 3 });
    const session = solo.open();
    for (const path of ['/a', '/b', '/c']) session.made(path, { ephemeral: true });
    expect(codeOf(session.create('/d', { ephemeral: true }))).toBe('LIMIT_EXCEEDED');
    session.made('/d');
    solo.open().made('/e', { ephemeral: true });
    session.delete('/b');
    session.made('/b', { ephemeral: true });
  });
});
