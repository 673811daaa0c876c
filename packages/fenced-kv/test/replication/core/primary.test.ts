import { describe, expect, it } from 'vitest';

import {
  BEFORE,
  CLAIMED,
  NOTHING_ELSE,
  PAYLOAD,
  coreOf,
  hear,
  installing,
  sentTo,
  serving,
  servingWithAll,
  typesOf,
} from './support/rig.ts';

const ACK = { type: 'acknowledged', ticket: 1, index: 2, epoch: 57 } as const;

describe('a replica that is elected', () => {
  it('claims the group when its epoch is durable at itself, with the in-sync set as it is', () => {
    const core = coreOf('r1');
    expect(core.step({ type: 'elected', token: 57, configuration: BEFORE })).toEqual([
      { type: 'persist', seq: 1, installed: 57, truncateFrom: undefined, entries: [], ...NOTHING_ELSE },
      {
        type: 'write-configuration',
        expectedVersion: 8,
        configuration: { epoch: 57, primary: 'r1', inSync: ['r1', 'r2'] },
        after: 1,
      },
    ]);
    expect(core.status.role).toBe('claiming');
  });

  it('gives the lock back when it is not in the in-sync set', () => {
    const core = coreOf('r3');
    expect(core.step({ type: 'elected', token: 57, configuration: BEFORE })).toEqual([
      { type: 'stepped-down', epoch: 57, reason: 'not-in-sync' },
    ]);
    expect(core.status).toMatchObject({ role: 'replica', installed: 41 });
  });

  it.each([
    ['of what it has installed', 60, BEFORE],
    ['of the configuration', 41, { ...BEFORE, epoch: 57 }],
  ])('gives the lock back when its token is not above that %s', (_, installed, configuration) => {
    const effects = coreOf('r1', [], installed).step({ type: 'elected', token: 57, configuration });
    expect(effects).toEqual([{ type: 'stepped-down', epoch: 57, reason: 'stale-token' }]);
  });

  it('sends its claim again while the version has not grown', () => {
    const core = coreOf('r1');
    const first = core.step({ type: 'elected', token: 57, configuration: BEFORE });
    core.step({ type: 'persisted', seq: 1 });
    const again = core.step({ type: 'configuration', configuration: BEFORE });
    expect(again).toEqual([{ ...first[1], after: undefined }]);
  });

  it('steps down when another claimed the group before it', () => {
    const core = coreOf('r1');
    core.step({ type: 'elected', token: 57, configuration: BEFORE });
    const effects = core.step({ type: 'configuration', configuration: { ...CLAIMED, epoch: 59, primary: 'r2' } });
    expect(effects).toEqual([{ type: 'stepped-down', epoch: 57, reason: 'superseded' }]);
  });

  it('installs its epoch at all replicas when the configuration names it, and no sooner', () => {
    const core = coreOf('r1');
    const claim = core.step({ type: 'elected', token: 57, configuration: BEFORE });
    expect(typesOf(claim)).not.toContain('send');
    expect(typesOf(core.step({ type: 'persisted', seq: 1 }))).toEqual([]);
    const effects = core.step({ type: 'configuration', configuration: CLAIMED });
    for (const replica of ['r2', 'r3']) expect(sentTo(effects, replica)).toEqual([{ type: 'install', epoch: 57 }]);
  });

  it('serves when every in-sync replica has its barrier, and rejects what comes before', () => {
    const core = installing();
    expect(core.step({ type: 'propose', ticket: 1, payload: PAYLOAD })).toEqual([{ type: 'rejected', tickets: [1] }]);
    expect(core.step({ type: 'read', ticket: 2 })).toEqual([{ type: 'rejected', tickets: [2] }]);
    const installed = hear(core, 'r2', { type: 'installed', epoch: 57, lastIndex: 0, copy: 0, cursor: undefined });
    expect(sentTo(installed, 'r2')).toMatchObject([{ type: 'append', prevIndex: 0, prevEpoch: 0 }]);
    expect(core.status.role).toBe('claiming');
    expect(hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 1 })).toEqual([
      { type: 'apply', upTo: 1 },
      { type: 'serving', epoch: 57, barrier: 1 },
    ]);
  });

  it('does not serve with a barrier that is not durable at itself', () => {
    const core = coreOf('r1');
    core.step({ type: 'elected', token: 57, configuration: BEFORE });
    core.step({ type: 'persisted', seq: 1 });
    core.step({ type: 'configuration', configuration: CLAIMED });
    hear(core, 'r2', { type: 'installed', epoch: 57, lastIndex: 0, copy: 0, cursor: undefined });
    expect(hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 1 })).toEqual([]);
    expect(typesOf(core.step({ type: 'persisted', seq: 2 }))).toEqual(['apply', 'serving']);
  });
});

describe('a primary', () => {
  it('acknowledges a write when it is durable at every in-sync replica, itself too', () => {
    const core = servingWithAll();
    const effects = core.step({ type: 'propose', ticket: 1, payload: PAYLOAD });
    expect(typesOf(effects)).toEqual(['persist', 'send', 'send']);
    expect(hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 2 })).toEqual([]);
    expect(hear(core, 'r3', { type: 'appended', epoch: 57, copy: 0, index: 2 })).toEqual([]);
    expect(core.step({ type: 'persisted', seq: 3 })).toEqual([{ type: 'apply', upTo: 2 }, ACK]);
  });

  it('goes back to where the logs agree', () => {
    const core = installing();
    const first = hear(core, 'r2', { type: 'installed', epoch: 57, lastIndex: 5, copy: 0, cursor: undefined });
    expect(sentTo(first, 'r2')).toMatchObject([{ type: 'append', prevIndex: 1, prevEpoch: 57, entries: [] }]);
    const second = hear(core, 'r2', { type: 'mismatch', epoch: 57, prevIndex: 1, tryAfter: 0 });
    const entries = [{ index: 1, epoch: 57, payload: undefined }];
    expect(sentTo(second, 'r2')).toEqual([
      { type: 'append', epoch: 57, copy: 0, prevIndex: 0, prevEpoch: 0, commit: 0, entries },
    ]);
  });

  it('waits for a silent replica until its removal is in force', () => {
    const core = servingWithAll();
    core.step({ type: 'propose', ticket: 1, payload: PAYLOAD });
    core.step({ type: 'persisted', seq: 3 });
    hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 2 });
    const removal = { epoch: 57, primary: 'r1', inSync: ['r1', 'r2'] };
    expect(core.step({ type: 'suspect', replica: 'r3' })).toEqual([
      { type: 'write-configuration', expectedVersion: 10, configuration: removal, after: undefined },
    ]);
    expect(core.step({ type: 'configuration', configuration: { ...removal, version: 11 } })).toEqual([
      { type: 'apply', upTo: 2 },
      ACK,
    ]);
  });

  it('removes nobody when fewer than a majority would be left', () => {
    expect(serving().step({ type: 'suspect', replica: 'r2' })).toEqual([]);
  });

  it('adds a replica when it has caught up, and waits for it from the write on', () => {
    const core = serving();
    hear(core, 'r3', { type: 'installed', epoch: 57, lastIndex: 0, copy: 0, cursor: undefined });
    expect(hear(core, 'r3', { type: 'appended', epoch: 57, copy: 0, index: 0 })).toEqual([]);
    const added = hear(core, 'r3', { type: 'appended', epoch: 57, copy: 0, index: 1 });
    expect(added).toMatchObject([{ type: 'write-configuration', configuration: { inSync: ['r1', 'r2', 'r3'] } }]);
    core.step({ type: 'propose', ticket: 1, payload: PAYLOAD });
    core.step({ type: 'persisted', seq: 3 });
    expect(hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 2 })).toEqual([]);
    expect(hear(core, 'r3', { type: 'appended', epoch: 57, copy: 0, index: 2 })).toEqual([
      { type: 'apply', upTo: 2 },
      ACK,
    ]);
  });

  it('has so many appends under way to a replica, and sends what came meanwhile in one with the next answer', () => {
    const core = servingWithAll({ maxInFlightEntries: 100, maxInFlightAppends: 3 });
    const sent = Array.from(
      { length: 6 },
      (_, ticket) => sentTo(core.step({ type: 'propose', ticket, payload: PAYLOAD }), 'r2').length,
    );
    expect(sent).toEqual([1, 1, 1, 0, 0, 0]);
    const more = sentTo(hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 2 }), 'r2');
    expect(more).toMatchObject([{ type: 'append', prevIndex: 4, entries: [{ index: 5 }, { index: 6 }, { index: 7 }] }]);
    // The other one has answered nothing.
    expect(sentTo(core.step({ type: 'propose', ticket: 7, payload: PAYLOAD }), 'r3')).toEqual([]);
    const anew = core.step({ type: 'connected', replica: 'r3' });
    expect(sentTo(anew, 'r3')).toEqual([{ type: 'install', epoch: 57 }]);
    const installed = hear(core, 'r3', { type: 'installed', epoch: 57, lastIndex: 1, copy: 0, cursor: undefined });
    expect(sentTo(installed, 'r3')).toMatchObject([{ type: 'append', prevIndex: 1, entries: { length: 7 } }]);
  });

  it('answers a read when every in-sync replica has confirmed its epoch since', () => {
    const core = servingWithAll();
    const effects = core.step({ type: 'read', ticket: 5 });
    for (const replica of ['r2', 'r3']) {
      expect(sentTo(effects, replica)).toEqual([{ type: 'confirm', epoch: 57, round: 1 }]);
    }
    expect(typesOf(effects)).not.toContain('read-ready');
    expect(hear(core, 'r2', { type: 'confirmed', epoch: 57, round: 1 })).toEqual([]);
    core.step({ type: 'read', ticket: 6 });
    expect(hear(core, 'r3', { type: 'confirmed', epoch: 57, round: 1 })).toEqual([
      { type: 'read-ready', ticket: 5, index: 1, epoch: 57 },
    ]);
  });

  it('steps down when a replica has a higher epoch, and tells what may have happened and what has not', () => {
    const core = serving();
    core.step({ type: 'propose', ticket: 1, payload: PAYLOAD });
    core.step({ type: 'read', ticket: 2 });
    expect(hear(core, 'r2', { type: 'refused', epoch: 57, installed: 59 })).toEqual([
      { type: 'unknown', tickets: [1] },
      { type: 'rejected', tickets: [2] },
      { type: 'stepped-down', epoch: 57, reason: 'superseded' },
    ]);
    expect(hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 2 })).toEqual([]);
  });

  it('installs its epoch again at a replica that does not have it', () => {
    const effects = hear(serving(), 'r3', { type: 'refused', epoch: 57, installed: 41 });
    expect(sentTo(effects, 'r3')).toEqual([{ type: 'install', epoch: 57 }]);
  });

  it('begins anew with a replica that has connected again, and asks it to confirm the reads that wait', () => {
    const core = serving();
    core.step({ type: 'read', ticket: 2 });
    expect(sentTo(core.step({ type: 'connected', replica: 'r2' }), 'r2')).toEqual([
      { type: 'install', epoch: 57 },
      { type: 'confirm', epoch: 57, round: 1 },
    ]);
  });

  it('takes no answer from a stranger, and none to another epoch', () => {
    const core = installing();
    hear(core, 'r2', { type: 'installed', epoch: 57, lastIndex: 0, copy: 0, cursor: undefined });
    expect(hear(core, 'r9', { type: 'appended', epoch: 57, copy: 0, index: 1 })).toEqual([]);
    expect(hear(core, 'r2', { type: 'appended', epoch: 41, copy: 0, index: 1 })).toEqual([]);
    expect(core.status.role).toBe('claiming');
  });
});

describe('a primary with a replica that is slower', () => {
  it('has no more entries under way than it may, and sends the next ones when some are answered', () => {
    const core = serving();
    const sent = [1, 2, 3, 4, 5, 6].flatMap((ticket) =>
      sentTo(core.step({ type: 'propose', ticket, payload: PAYLOAD }), 'r2'),
    );
    expect(
      sent.flatMap((message) => (message.type === 'append' ? message.entries.map(({ index }) => index) : [])),
    ).toEqual([2, 3, 4, 5]);
    const next = sentTo(hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 3 }), 'r2');
    expect(next).toMatchObject([{ type: 'append', prevIndex: 5, entries: [{ index: 6 }, { index: 7 }] }]);
  });
});

describe('a primary that has forgotten what another lacks', () => {
  /** r1 serves with r2, has applied and forgotten entries up to 3; r3 has one entry of another primary. */
  function forgotten(): ReturnType<typeof serving> {
    const core = serving();
    for (const [ticket, index] of [
      [1, 2],
      [2, 3],
    ] as const) {
      core.step({ type: 'propose', ticket, payload: PAYLOAD });
      core.step({ type: 'persisted', seq: 1 + index });
      hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index });
    }
    core.step({ type: 'applied', upTo: 3 });
    core.step({ type: 'forget', upTo: 3 });
    return core;
  }
  const part = { from: '', to: '02', last: false, chunk: PAYLOAD };

  it('keeps what its buckets do not have durably', () => {
    const core = serving();
    core.step({ type: 'applied', upTo: 0 });
    expect(core.step({ type: 'forget', upTo: 1 })).toEqual([]);
    expect(core.status.base).toBe(0);
  });

  it('forgets durably', () => {
    const core = serving();
    core.step({ type: 'applied', upTo: 1 });
    expect(core.step({ type: 'forget', upTo: 9 })).toMatchObject([{ type: 'persist', base: { index: 1, epoch: 57 } }]);
    expect(core.status).toMatchObject({ base: 1, lastIndex: 1 });
  });

  it('copies its buckets part by part, and adds the replica when it has caught up', () => {
    const core = forgotten();
    const begun = hear(core, 'r3', { type: 'installed', epoch: 57, lastIndex: 1, copy: 0, cursor: undefined });
    expect(begun).toEqual([{ type: 'read-copy', replica: 'r3', copy: 1, from: '' }]);
    const base = { index: 3, epoch: 57 };
    const sent = core.step({ type: 'copy-read', replica: 'r3', copy: 1, part });
    expect(sentTo(sent, 'r3')).toEqual([{ type: 'copy', epoch: 57, copy: 1, base, part }]);
    expect(hear(core, 'r3', { type: 'copied', epoch: 57, copy: 1, cursor: '02' })).toEqual([
      { type: 'read-copy', replica: 'r3', copy: 1, from: '02' },
    ]);
    // A late answer from before the copy counts for nothing.
    expect(hear(core, 'r3', { type: 'appended', epoch: 57, copy: 0, index: 3 })).toEqual([]);
    const added = hear(core, 'r3', { type: 'appended', epoch: 57, copy: 1, index: 3 });
    expect(added).toMatchObject([{ type: 'write-configuration', configuration: { inSync: ['r1', 'r2', 'r3'] } }]);
  });

  it('goes on from where the replica has come, after a break', () => {
    const core = forgotten();
    hear(core, 'r3', { type: 'installed', epoch: 57, lastIndex: 1, copy: 0, cursor: undefined });
    expect(sentTo(core.step({ type: 'connected', replica: 'r3' }), 'r3')).toMatchObject([{ type: 'install' }]);
    expect(hear(core, 'r3', { type: 'installed', epoch: 57, lastIndex: 0, copy: 1, cursor: '02' })).toEqual([
      { type: 'read-copy', replica: 'r3', copy: 1, from: '02' },
    ]);
  });

  it('keeps the entries that a copy will need, until the replica is suspected', () => {
    const core = forgotten();
    hear(core, 'r3', { type: 'installed', epoch: 57, lastIndex: 1, copy: 0, cursor: undefined });
    core.step({ type: 'propose', ticket: 3, payload: PAYLOAD });
    core.step({ type: 'persisted', seq: 6 });
    hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 4 });
    core.step({ type: 'applied', upTo: 4 });
    expect(core.step({ type: 'forget', upTo: 4 })).toEqual([]);
    core.step({ type: 'suspect', replica: 'r3' });
    expect(core.step({ type: 'forget', upTo: 4 })).toMatchObject([{ type: 'persist', base: { index: 4 } }]);
  });

  it('asks all for a sign of life, and installs its epoch at one that lacks it', () => {
    const core = serving();
    const probed = core.step({ type: 'probe' });
    for (const replica of ['r2', 'r3']) {
      expect(sentTo(probed, replica)).toEqual([{ type: 'confirm', epoch: 57, round: 0 }]);
    }
  });
});
