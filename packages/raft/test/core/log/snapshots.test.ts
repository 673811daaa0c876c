import { describe, expect, it } from 'vitest';
import {
  encodeConfiguration,
  initialConfiguration,
  logIndex,
  serverId,
  term,
  type Effect,
  type RaftEvent,
} from '../../../src/core/index.ts';
import { appendOf, configurationEntry } from '../support/membership.ts';
import {
  ScriptedCore,
  accepted,
  append,
  entry,
  heartbeat,
  heartbeatResponse,
  ofType,
  refused,
  sent,
} from '../support/scripted-core.ts';

const CONFIGURATION = encodeConfiguration(
  initialConfiguration([1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` }))),
);

const at = (index: number, inTerm: number) => ({ index: logIndex(index), term: term(inTerm) });

const taken = (index: number, inTerm: number, compactTo = index): RaftEvent => ({
  type: 'snapshot-taken',
  position: at(index, inTerm),
  compactTo: logIndex(compactTo),
});

const received = (index: number, inTerm: number, leaderTerm: number, from = 2): RaftEvent => ({
  type: 'snapshot-received',
  from: serverId(from),
  term: term(leaderTerm),
  position: { ...at(index, inTerm), configuration: CONFIGURATION },
});

const appendsTo = (effects: readonly Effect[], peer: number) => sent(effects, 'append').filter(({ to }) => to === peer);

/** A leader of term 1 that has committed its no-op and nine commands with peer 3; peer 2 has the first three entries. */
function leaderOfTen(config = {}): ScriptedCore {
  const core = new ScriptedCore({ config });
  core.leadInSync();
  for (let count = 2; count <= 10; count += 1) {
    core.propose(`command ${count}`);
    core.durable();
    core.acknowledge(3, core.status.lastIndex);
    if (count <= 3) core.acknowledge(2, core.status.lastIndex);
  }
  core.step({ type: 'applied', index: logIndex(10) });
  return core;
}

/** A follower of term 1 with so many entries, of which so many are committed and applied. */
function follower(entries: number, committed: number): ScriptedCore {
  const core = new ScriptedCore({ log: Array.from({ length: entries }, () => 1) });
  core.receive(2, append(1, [entries, 1], [], committed));
  core.step({ type: 'applied', index: logIndex(committed) });
  return core;
}

describe('a snapshot that was taken', () => {
  it('lets go what it was told to, and keeps the term before what stays', () => {
    const core = leaderOfTen();
    expect(ofType(core.step(taken(9, 1, 6)), 'compact')).toEqual([{ type: 'compact', upTo: 6 }]);
    expect(core.core.termAt(logIndex(5))).toBeUndefined();
    expect(core.core.termAt(logIndex(6))).toBe(1);
    expect(core.core.entries(logIndex(6), logIndex(10), 1e9)).toBeUndefined();
    expect(core.core.entries(logIndex(7), logIndex(10), 1e9)).toHaveLength(4);
  });

  it('lets go nothing behind itself, nor what is not durable here, nor anything twice', () => {
    const core = leaderOfTen();
    expect(ofType(core.step(taken(4, 1, 8)), 'compact')).toEqual([{ type: 'compact', upTo: 4 }]);
    expect(ofType(core.step(taken(4, 1)), 'compact')).toEqual([]);
    core.propose('on two other disks first');
    core.acknowledge(3, 11);
    core.acknowledge(2, 11);
    core.step({ type: 'applied', index: logIndex(11) });
    expect(ofType(core.step(taken(11, 1)), 'compact')).toEqual([{ type: 'compact', upTo: 10 }]);
  });

  it('of what is not applied, or of another entry, stops the server', () => {
    expect(() => follower(10, 5).step(taken(6, 1))).toThrow('a-snapshot-holds-only-what-was-applied');
    expect(() => follower(10, 5).step(taken(5, 2))).toThrow('a-snapshot-is-of-the-log');
  });
});

describe('a leader without the entries that a peer needs', () => {
  /** Peer 2 is found to have the first three entries only, when the log begins behind the sixth. */
  function behind(core: ScriptedCore): Effect[] {
    core.step(taken(9, 1, 6));
    const reconnected = core.step(
      { type: 'peer-disconnected', peer: serverId(2) },
      { type: 'peer-connected', peer: serverId(2) },
    );
    return reconnected;
  }

  it('asks for a snapshot once, and sends appends to it no more', () => {
    const core = leaderOfTen();
    const effects = behind(core);
    expect(ofType(effects, 'send-snapshot')).toEqual([{ type: 'send-snapshot', peer: 2, term: 1 }]);
    expect(core.core.needsSnapshot(serverId(2))).toBe(true);
    const later = core.propose('another');
    expect(ofType(later, 'send-snapshot')).toEqual([]);
    expect(appendsTo(later, 2)).toEqual([]);
    expect(appendsTo(later, 3)).toHaveLength(1);
  });

  it('still sends it heartbeats, and reads from no disk for it', () => {
    const core = leaderOfTen();
    behind(core);
    const effects = core.elapse(500);
    expect(sent(effects, 'heartbeat').filter(({ to }) => to === 2).length).toBeGreaterThan(3);
    for (const { round } of sent(effects, 'heartbeat').filter(({ to }) => to === 2)) {
      effects.push(...core.receive(2, heartbeatResponse(1, round)));
    }
    expect(appendsTo(effects, 2)).toEqual([]);
    expect(ofType(effects, 'read-entries')).toEqual([]);
  });

  it('probes behind the snapshot once it was sent, and counts only what the peer acknowledges [snapshot-at-last-index-stays-probing]', () => {
    const core = leaderOfTen();
    behind(core);
    const effects = core.step({ type: 'snapshot-sent', peer: serverId(2), term: term(1), index: logIndex(9) });
    expect(appendsTo(effects, 2)).toMatchObject([{ prevIndex: 9, prevTerm: 1 }]);
    expect(core.core.needsSnapshot(serverId(2))).toBe(false);
    expect(appendsTo(core.propose('more'), 2)).toEqual([]);
    core.durable();
    expect(core.status.commitIndex).toBe(10);
    expect(appendsTo(core.acknowledge(2, 10), 2)).toMatchObject([{ prevIndex: 10 }]);
  });

  it('does so again when the log has been compacted beyond that snapshot meanwhile', () => {
    const core = leaderOfTen();
    behind(core);
    core.step(taken(10, 1));
    const effects = core.step({ type: 'snapshot-sent', peer: serverId(2), term: term(1), index: logIndex(9) });
    expect(ofType(effects, 'send-snapshot')).toHaveLength(1);
    expect(appendsTo(effects, 2)).toEqual([]);
  });

  it('ignores the end of a transfer of an earlier leadership', () => {
    const core = leaderOfTen();
    behind(core);
    const effects = core.step({ type: 'snapshot-sent', peer: serverId(2), term: term(0), index: logIndex(9) });
    expect(appendsTo(effects, 2)).toEqual([]);
    expect(core.core.needsSnapshot(serverId(2))).toBe(true);
  });

  it('goes back to appends when the peer turns out to have what it needs [leader-ignores-usable-lower-snapshot-ack]', () => {
    const core = leaderOfTen();
    behind(core);
    const effects = core.acknowledge(2, 8);
    expect(appendsTo(effects, 2)).toMatchObject([{ prevIndex: 8 }]);
    expect(core.core.needsSnapshot(serverId(2))).toBe(false);
  });

  it('notices it from a refusal whose hint lies before its log [conflict-search-on-compacted-index-panics]', () => {
    const core = leaderOfTen();
    core.step(taken(9, 1, 6));
    const probe = core.step(
      { type: 'peer-disconnected', peer: serverId(3) },
      { type: 'peer-connected', peer: serverId(3) },
    );
    const prevIndex = appendsTo(probe, 3)[0]?.prevIndex ?? 0;
    expect(prevIndex).toBe(10);
    // It has lost its disk; what it acknowledged counts, so this is a server that breaks its word, and must do no harm.
    const effects = core.receive(3, refused(1, prevIndex, 2, 1));
    expect(ofType(effects, 'send-snapshot')).toEqual([]);
  });

  it('drops what was read for it when its log has been compacted beyond that in the same step', () => {
    const core = leaderOfTen({ maxAppendBytes: 30 });
    const peer = serverId(2);
    // More than an append away from what is committed: it is read.
    const asked = core.step({ type: 'peer-disconnected', peer }, { type: 'peer-connected', peer });
    expect(ofType(asked, 'read-entries')).toMatchObject([{ peer, from: 4 }]);
    const entries = [4, 5, 6].map((index) => entry(index, 1));
    const effects = core.step(taken(9, 1, 6), { type: 'entries-read', peer, term: term(1), entries });
    expect(appendsTo(effects, 2)).toEqual([]);
    expect(ofType(effects, 'send-snapshot')).toMatchObject([{ peer: 2 }]);
  });

  it('keeps its word to a peer in the midst of its window [inflight-full-slow-follower-after-compaction]', () => {
    const core = leaderOfTen({ maxInflightMessages: 2 });
    // Peer 2 has been sent entries up to 5, and owes the answer.
    const effects = core.step(taken(9, 1));
    effects.push(...core.elapse(1_000));
    for (const { to, round } of sent(effects, 'heartbeat')) {
      if (to === 2) effects.push(...core.receive(2, heartbeatResponse(1, round)));
    }
    expect(appendsTo(effects, 2).filter(({ prevIndex }) => prevIndex < 9)).toEqual([]);
    // However full the window is: what would empty it is an answer that may never come.
    expect(ofType(effects, 'send-snapshot')).toMatchObject([{ peer: 2 }]);
  });
});

describe('a follower that has received a snapshot', () => {
  it('replaces a log that ends before it, in one write, and commits and restores it', () => {
    const core = follower(5, 3);
    const effects = core.step(received(20, 1, 1));
    expect(ofType(effects, 'persist')).toMatchObject([{ snapshot: at(20, 1), truncateFrom: undefined, entries: [] }]);
    expect(ofType(effects, 'restore')).toEqual([{ type: 'restore', position: at(20, 1) }]);
    expect(effects.findIndex(({ type }) => type === 'restore')).toBeLessThan(
      effects.findIndex(({ type }) => type === 'apply'),
    );
    expect(core.status).toMatchObject({ commitIndex: 20, lastIndex: 20 });
    core.durable();
    const next = core.receive(2, append(1, [20, 1], [1, 1], 21));
    expect(ofType(next, 'persist')).toMatchObject([{ snapshot: undefined, entries: [{ index: 21 }, { index: 22 }] }]);
    expect(sent(core.durable(), 'append-response')).toEqual([]);
    expect(core.status).toMatchObject({ commitIndex: 21, lastIndex: 22 });
  });

  it('keeps nothing of a log that has another entry there [conflicting-entry-at-snapshot-index-kept]', () => {
    const core = new ScriptedCore({ log: [1, 1, 1, 1, 1, 1, 1, 1] });
    const effects = core.step(received(5, 2, 3));
    expect(ofType(effects, 'persist')).toMatchObject([
      { snapshot: at(5, 2), entries: [], hardState: { term: 3, votedFor: 0 } },
    ]);
    expect(core.status).toMatchObject({ lastIndex: 5, commitIndex: 5, term: 3, leader: 2 });
    expect(core.core.termAt(logIndex(5))).toBe(2);
    expect(core.core.termAt(logIndex(4))).toBeUndefined();
  });

  it('keeps its whole log when that has the snapshot’s last entry, and applies it by itself', () => {
    const core = follower(10, 3);
    const effects = core.step(received(8, 1, 1));
    expect(ofType(effects, 'persist')).toEqual([]);
    expect(ofType(effects, 'restore')).toEqual([]);
    expect(ofType(effects, 'apply')).toEqual([{ type: 'apply', upTo: 8 }]);
    expect(core.status).toMatchObject({ lastIndex: 10, commitIndex: 8 });
  });

  it('ignores one at or below what it has committed [older-or-conflicting-snapshot-at-committed-index]', () => {
    const core = follower(10, 6);
    for (const index of [4, 6]) expect(core.step(received(index, 1, 1))).toEqual([]);
    expect(core.status).toMatchObject({ lastIndex: 10, commitIndex: 6 });
  });

  it('takes it from a leader that is deposed since, for what it holds is committed', () => {
    const core = follower(5, 3);
    core.receive(3, heartbeat(4));
    expect(ofType(core.step(received(20, 1, 1)), 'restore')).toHaveLength(1);
    expect(core.status).toMatchObject({ term: 4, leader: 3, commitIndex: 20 });
  });

  it('drops the entries of the same turn that the snapshot replaces', () => {
    const core = follower(5, 3);
    const effects = core.step(
      { type: 'message', from: serverId(2), message: append(1, [5, 1], [1, 1]) },
      received(20, 1, 1),
      { type: 'message', from: serverId(2), message: append(1, [20, 1], [1]) },
    );
    expect(ofType(effects, 'persist')).toMatchObject([{ snapshot: at(20, 1), entries: [{ index: 21 }] }]);
    expect(sent(effects, 'append-response')).toMatchObject([{ accepted: true, index: 21 }]);
  });

  it('counts no earlier write for entries behind it', () => {
    const core = follower(5, 3);
    core.receive(2, append(1, [5, 1], [1, 1]));
    core.step(received(20, 1, 1));
    core.durable();
    expect(core.core.stableIndex).toBe(20);
  });

  it('acknowledges an append from before it up to where it begins, at least [prev-entry-compacted-treated-as-conflict]', () => {
    const core = follower(5, 3);
    core.step(received(20, 1, 1));
    core.durable();
    const early = core.receive(2, append(1, [3, 1], [1, 1], 5));
    expect(sent(early, 'append-response')).toMatchObject([{ accepted: true, index: 20 }]);
    const across = core.receive(2, append(1, [18, 1], [1, 1, 1, 1], 20));
    expect(ofType(across, 'persist')).toMatchObject([{ entries: [{ index: 21 }, { index: 22 }] }]);
    expect(sent(across, 'append-response')).toMatchObject([{ accepted: true, index: 22 }]);
  });

  it('stands with the last entry of the snapshot as its own', () => {
    const core = follower(5, 3);
    core.step(received(20, 1, 1));
    core.durable();
    const [asked] = sent(
      core.elapse(5_000, () => core.status.role === 'pre-candidate'),
      'pre-vote',
    );
    expect(asked).toMatchObject({ lastIndex: 20, lastTerm: 1 });
    core.lead();
    expect(core.status).toMatchObject({ role: 'leader', lastIndex: 21 });
    expect(ofType(core.receive(3, accepted(core.status.term, 21)), 'apply')).toMatchObject([]);
    core.durable();
    expect(core.status.commitIndex).toBe(21);
  });

  it.each(['pre-candidate', 'candidate'] as const)(
    'follows its leader as a %s, too, and takes it [candidate-refuses-snapshot-while-waiting]',
    (role) => {
      const core = new ScriptedCore({ log: [1, 1, 1] });
      if (role === 'candidate') core.stand();
      else core.elapse(5_000, () => core.status.role === role);
      expect(core.status.role).toBe(role);
      const { term: own } = core.status;
      const effects = core.step(received(20, 1, own + 1));
      expect(ofType(effects, 'restore')).toEqual([{ type: 'restore', position: at(20, 1) }]);
      expect(core.status).toMatchObject({ role: 'follower', leader: 2, term: own + 1, commitIndex: 20, lastIndex: 20 });
      core.durable();
      const [answer] = sent(core.receive(2, append(own + 1, [20, 1])), 'append-response');
      expect(answer).toMatchObject({ accepted: true, index: 20 });
    },
  );

  it('takes it while it stands in the very term of the leader that sent it, too', () => {
    const core = new ScriptedCore({ log: [1, 1, 1], term: 1 });
    core.stand();
    const { term: own } = core.status;
    expect(ofType(core.step(received(20, 1, own)), 'restore')).toHaveLength(1);
    expect(core.status).toMatchObject({ commitIndex: 20, lastIndex: 20 });
    core.durable();
    core.receive(2, append(own, [20, 1]));
    expect(core.status).toMatchObject({ role: 'follower', leader: 2, term: own });
  });

  it('is no leader', () => {
    const core = leaderOfTen();
    expect(core.step(received(50, 1, 1))).toEqual([]);
    expect(core.status).toMatchObject({ role: 'leader', commitIndex: 10 });
  });
});

describe('a leader whose whole log is in its snapshot', () => {
  /** Everything is applied and forgotten: the log begins behind its last entry. */
  function purged(): ScriptedCore {
    const core = leaderOfTen();
    core.step(taken(10, 1));
    expect(core.core.termAt(logIndex(9))).toBeUndefined();
    return core;
  }

  it('goes on with a peer that has everything, and brings one that lacks something by a snapshot [fully-purged-leader-log]', () => {
    const core = purged();
    const again = (peer: number) =>
      core.step({ type: 'peer-disconnected', peer: serverId(peer) }, { type: 'peer-connected', peer: serverId(peer) });
    expect(appendsTo(again(3), 3)).toMatchObject([{ prevIndex: 10, prevTerm: 1, entries: [] }]);
    expect(ofType(again(2), 'send-snapshot')).toMatchObject([{ peer: 2 }]);
    core.acknowledge(3, 10);
    const [next] = appendsTo(core.propose('more'), 3);
    expect(next).toMatchObject({ prevIndex: 10, prevTerm: 1, entries: [{ index: 11, term: 1 }] });
    core.durable();
    core.acknowledge(3, 11);
    expect(core.status.commitIndex).toBe(11);
  });

  it('is elected from there: its last entry is that of the snapshot, and it proposes behind it', () => {
    const core = purged();
    core.receive(3, heartbeatResponse(5, 0));
    const [asked] = sent(
      core.elapse(5_000, () => core.status.role === 'pre-candidate'),
      'pre-vote',
    );
    expect(asked).toMatchObject({ lastIndex: 10, lastTerm: 1 });
    const won = core.lead();
    const leads = core.status.term;
    expect(appendsTo(won, 3)).toMatchObject([{ prevIndex: 10, prevTerm: 1, entries: [{ index: 11, term: leads }] }]);
    core.durable();
    core.acknowledge(3, 11);
    expect(core.status.commitIndex).toBe(11);
  });
});

describe('a received snapshot', () => {
  it('brings the configuration of its end, in the place of those of the log that it replaces [stale-effective-config-survives-snapshot]', () => {
    const core = new ScriptedCore({ log: [1, 1] });
    const next = initialConfiguration([1, 2, 3, 4, 5].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));
    core.step({
      type: 'snapshot-received',
      from: serverId(2),
      term: term(2),
      position: { ...at(9, 2), configuration: encodeConfiguration(next) },
    });
    expect(core.core.configuration).toEqual({ index: 9, configuration: next });
    expect(core.core.committedConfiguration).toEqual({ index: 9, configuration: next });
  });

  it('brings no configuration to a log that goes on behind it, which may have a newer one [snapshot-blindly-applies-config]', () => {
    const five = initialConfiguration([1, 2, 3, 4, 5].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));
    const core = follower(8, 3);
    core.receive(2, appendOf(1, [8, 1], [configurationEntry(9, 1, five)]));
    core.step(received(8, 1, 1));
    expect(core.status).toMatchObject({ commitIndex: 8, lastIndex: 9 });
    expect(core.core.configuration).toEqual({ index: 9, configuration: five });
    // Nor does an old one take back what has been committed since.
    core.receive(2, heartbeat(1, 9));
    core.step(received(8, 1, 1));
    expect(core.core.committedConfiguration).toEqual({ index: 9, configuration: five });
  });
});
