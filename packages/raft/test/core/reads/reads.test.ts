import { describe, expect, it } from 'vitest';
import { serverId, type Effect } from '../../../src/core/index.ts';
import { ScriptedCore, heartbeatResponse, ofType, sent } from '../support/scripted-core.ts';

const read = (ticket: number) => ({ type: 'read-index', ticket }) as const;

function roundOf(effects: readonly Effect[]): number {
  const [beat] = sent(effects, 'heartbeat');
  if (beat === undefined) throw new Error('no heartbeat was sent');
  return beat.round;
}

function leader(config = {}): ScriptedCore {
  const core = new ScriptedCore({ config });
  core.leadInSync();
  return core;
}

describe('a read', () => {
  it('is confirmed by a round of heartbeats that begins after it was asked', () => {
    const core = leader();
    const asked = core.step(read(1));
    expect(ofType(asked, 'read-ready')).toEqual([]);
    const confirmed = core.receive(2, heartbeatResponse(1, roundOf(asked)));
    expect(ofType(confirmed, 'read-ready')).toMatchObject([{ tickets: [1], index: 1 }]);
  });

  it('is not confirmed by a late answer to an earlier round [readindex-retry-same-context]', () => {
    const core = leader();
    const earlier = roundOf(core.elapse(100));
    core.step(read(1));
    expect(ofType(core.receive(2, heartbeatResponse(1, earlier)), 'read-ready')).toEqual([]);
    expect(ofType(core.receive(3, heartbeatResponse(1, earlier)), 'read-ready')).toEqual([]);
  });

  it('that is asked while a round is under way waits for the next', () => {
    const core = leader();
    const first = roundOf(core.step(read(1)));
    expect(sent(core.step(read(2), read(3)), 'heartbeat')).toEqual([]);
    const confirmed = core.receive(2, heartbeatResponse(1, first));
    expect(ofType(confirmed, 'read-ready')).toMatchObject([{ tickets: [1] }]);
    const second = roundOf(confirmed);
    expect(ofType(core.receive(3, heartbeatResponse(1, first)), 'read-ready')).toEqual([]);
    expect(ofType(core.receive(3, heartbeatResponse(1, second)), 'read-ready')).toMatchObject([{ tickets: [2, 3] }]);
  });

  it('gets the commit index of when its round began', () => {
    const core = leader();
    const round = roundOf(core.step(read(1)));
    core.propose('x');
    core.durable();
    core.acknowledge(2, 2);
    expect(core.status.commitIndex).toBe(2);
    expect(ofType(core.receive(2, heartbeatResponse(1, round)), 'read-ready')).toMatchObject([{ index: 1 }]);
  });

  it('waits until an entry of the own term is committed [readindex-before-own-term-commit]', () => {
    const core = new ScriptedCore({ log: [1, 1] });
    core.lead();
    core.durable();
    // The heartbeats of the new leader may be answered before the log is.
    const asked = core.step(read(1), { type: 'deadline' });
    for (const peer of core.peers) {
      expect(ofType(core.receive(peer, heartbeatResponse(2, roundOf(asked))), 'read-ready')).toEqual([]);
    }
    const committed = core.acknowledge(2, 3);
    const confirmed = core.receive(2, heartbeatResponse(2, roundOf(committed)));
    expect(ofType(confirmed, 'read-ready')).toMatchObject([{ tickets: [1], index: 3 }]);
  });

  it('is confirmed by a later round when the heartbeats of its own were lost', () => {
    const core = leader();
    const lost = roundOf(core.step(read(1)));
    const later = roundOf(core.elapse(100));
    expect(later).toBeGreaterThan(lost);
    expect(ofType(core.receive(2, heartbeatResponse(1, later)), 'read-ready')).toMatchObject([{ tickets: [1] }]);
  });

  it('shares its round with all that are asked in the same group', () => {
    const core = leader();
    const asked = core.step(...Array.from({ length: 500 }, (_, ticket) => read(ticket)));
    expect(sent(asked, 'heartbeat')).toHaveLength(2);
    const confirmed = core.receive(2, heartbeatResponse(1, roundOf(asked)));
    expect(ofType(confirmed, 'read-ready')).toMatchObject([{ tickets: { length: 500 } }]);
  });

  it('needs nobody else where there is nobody else', () => {
    const core = new ScriptedCore({ servers: 1 });
    core.lead();
    core.step(read(1));
    expect(ofType(core.durable(), 'read-ready')).toMatchObject([{ tickets: [1], index: 1 }]);
    expect(ofType(core.step(read(2)), 'read-ready')).toMatchObject([{ tickets: [2] }]);
  });
});

describe('a read that cannot be served', () => {
  it('is refused by a server that does not lead', () => {
    const core = new ScriptedCore();
    expect(ofType(core.step(read(1)), 'read-rejected')).toEqual([
      { type: 'read-rejected', tickets: [1], reason: 'not-leader' },
    ]);
  });

  it('is refused when its leader is deposed, whether its round had begun or not [readindex-silently-dropped]', () => {
    const core = leader();
    core.step(read(1));
    core.step(read(2));
    const deposed = core.receive(3, heartbeatResponse(7, 0));
    expect(ofType(deposed, 'read-rejected')).toMatchObject([{ tickets: [1, 2], reason: 'not-leader' }]);
    expect(ofType(core.receive(2, heartbeatResponse(1, 99)), 'read-ready')).toEqual([]);
  });

  it('is refused when its leader hears no quorum for long', () => {
    const core = new ScriptedCore({ log: [1] });
    core.lead();
    core.step(read(1));
    expect(ofType(core.elapse(5_000), 'read-rejected')).toMatchObject([{ tickets: [1], reason: 'not-leader' }]);
  });

  it('goes on while leadership is transferred: what a quorum of the term confirms is right, the rest ends with the term [read-during-transfer]', () => {
    const core = leader();
    const [beat] = sent(core.step(read(1)), 'heartbeat');
    core.step({ type: 'transfer', ticket: 9, target: undefined });
    expect(ofType(core.step(read(2)), 'read-rejected')).toEqual([]);
    const confirmed = core.receive(2, heartbeatResponse(1, beat?.round ?? 0));
    expect(ofType(confirmed, 'read-ready')).toMatchObject([{ tickets: [1] }]);
    const deposed = core.receive(3, heartbeatResponse(2, 0));
    expect(ofType(deposed, 'read-rejected')).toMatchObject([{ tickets: [2], reason: 'not-leader' }]);
  });

  it('is refused as overloaded beyond the bound of waiting reads', () => {
    const core = leader({ maxPendingReads: 2 });
    core.step(read(1));
    const effects = core.step(read(2), read(3), read(4));
    expect(ofType(effects, 'read-rejected')).toMatchObject([{ tickets: [4], reason: 'overloaded' }]);
  });
});

describe('a stream of reads', () => {
  it('does not keep a leader from noticing that it lost its quorum', () => {
    const core = leader();
    let ticket = 0;
    for (let ms = 0; ms < 4_000 && core.status.role === 'leader'; ms += 5) {
      core.now += 5;
      ticket += 1;
      const due = core.now >= core.core.deadline;
      core.step(read(ticket), ...(due ? [{ type: 'deadline' } as const] : []));
    }
    expect(core.status.role).toBe('follower');
  });

  it('does not repeat appends that a slow disk has not answered', () => {
    const core = leader();
    core.step({ type: 'peer-connected', peer: serverId(2) });
    let appends = 0;
    for (let count = 0; count < 50; count += 1) {
      const effects = core.step(read(count));
      core.now += 1;
      appends += sent(core.receive(2, heartbeatResponse(1, roundOf(effects))), 'append').length;
    }
    expect(appends).toBe(0);
  });
});
