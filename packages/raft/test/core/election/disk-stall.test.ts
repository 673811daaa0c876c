import { describe, expect, it } from 'vitest';
import { isJoint } from '../../../src/core/index.ts';
import { change, remove } from '../support/membership.ts';
import { ScriptedCore, append, heartbeat, heartbeatResponse, preVote, sent, vote } from '../support/scripted-core.ts';

const ELECTION_TIMEOUT_MS = 1_000;
const CONFIG = { electionTimeoutMs: ELECTION_TIMEOUT_MS, diskStallMs: ELECTION_TIMEOUT_MS };

function leader(servers = 3): ScriptedCore {
  const core = new ScriptedCore({ servers, config: CONFIG });
  core.leadInSync();
  return core;
}

/** Lets time pass with followers that answer heartbeats. */
function elapseHeard(core: ScriptedCore, ms: number) {
  const effects = [];
  for (let passed = 0; passed < ms; passed += 50) {
    effects.push(...core.elapse(50));
    for (const peer of core.peers) {
      if (core.status.role === 'leader') effects.push(...core.receive(peer, heartbeatResponse(core.status.term, 0)));
    }
  }
  return effects;
}

/** A follower of server 2 in term 1 whose disk has not written the entry that it got. */
function stalledFollower(): ScriptedCore {
  const core = new ScriptedCore({ config: CONFIG });
  core.receive(2, append(1, [0, 0], [1]));
  for (let passed = 0; passed < 2 * ELECTION_TIMEOUT_MS; passed += 50) {
    core.elapse(50);
    core.receive(2, heartbeat(1));
  }
  expect(core.status).toMatchObject({ diskStalls: true, role: 'follower', leader: 2 });
  return core;
}

describe('a leader whose disk hangs', () => {
  it('leads no longer after an election timeout without a write ending', () => {
    const core = leader();
    core.propose('x');
    elapseHeard(core, ELECTION_TIMEOUT_MS - 100);
    expect(core.status).toMatchObject({ role: 'leader', diskStalls: false });
    elapseHeard(core, 200);
    expect(core.status).toMatchObject({ role: 'follower', leader: 0, diskStalls: true });
  });

  it('asks a follower that has everything to stand at once', () => {
    const core = leader();
    core.propose('x');
    core.acknowledge(3, core.status.lastIndex);
    expect(sent(elapseHeard(core, ELECTION_TIMEOUT_MS + 200), 'timeout-now')).toMatchObject([{ to: 3, term: 1 }]);
  });

  it('asks nobody who is about to be removed', () => {
    const core = leader();
    change(core, remove(2));
    for (const peer of core.peers) core.acknowledge(peer, core.status.lastIndex);
    expect(isJoint(core.core.configuration.configuration)).toBe(true);
    expect(sent(elapseHeard(core, ELECTION_TIMEOUT_MS + 200), 'timeout-now')).toMatchObject([{ to: 3, term: 1 }]);
  });

  it('asks nobody who lacks something', () => {
    const core = leader();
    core.propose('x');
    expect(sent(elapseHeard(core, ELECTION_TIMEOUT_MS + 200), 'timeout-now')).toEqual([]);
  });

  it('goes on when it is alone: nobody could take over', () => {
    const core = leader(1);
    core.propose('x');
    core.elapse(10 * ELECTION_TIMEOUT_MS);
    expect(core.status).toMatchObject({ role: 'leader', diskStalls: true });
    core.durable();
    expect(core.status).toMatchObject({ role: 'leader', diskStalls: false, commitIndex: 2 });
  });

  it('leads on while its disk is slow and writes end', () => {
    const core = leader();
    for (let round = 0; round < 20; round += 1) {
      core.propose('x');
      elapseHeard(core, 0.8 * ELECTION_TIMEOUT_MS);
      core.durable();
    }
    expect(core.status).toMatchObject({ role: 'leader', term: 1 });
  });

  it('leads on while the disk does what the write has to wait for: it fills a segment, say', () => {
    const core = leader();
    core.propose('x');
    for (let piece = 0; piece < 10; piece += 1) {
      elapseHeard(core, 0.8 * ELECTION_TIMEOUT_MS);
      core.step({ type: 'disk-worked' });
      expect(core.status).toMatchObject({ role: 'leader', diskStalls: false });
    }
    elapseHeard(core, 1.2 * ELECTION_TIMEOUT_MS);
    expect(core.status).toMatchObject({ role: 'follower', diskStalls: true });
  });

  it('leads on however long it has nothing to write', () => {
    const core = leader();
    elapseHeard(core, 10 * ELECTION_TIMEOUT_MS);
    expect(core.status).toMatchObject({ role: 'leader', term: 1, diskStalls: false });
  });

  it('is not taken for one after its process was stopped for long: what it wrote may be done', () => {
    const core = leader();
    core.propose('x');
    core.now += 60_000;
    core.step({ type: 'deadline' });
    expect(core.status.role).toBe('leader');
  });
});

describe('a server whose disk hangs', () => {
  it('does not stand when its leader is gone, until a write ends', () => {
    const core = stalledFollower();
    expect(sent(core.elapse(20 * ELECTION_TIMEOUT_MS), 'pre-vote')).toEqual([]);
    expect(core.status).toMatchObject({ role: 'follower', term: 1 });
    core.durable();
    expect(core.status.diskStalls).toBe(false);
    expect(sent(core.elapse(3 * ELECTION_TIMEOUT_MS), 'pre-vote')).not.toEqual([]);
  });

  it('votes for nobody and promises nobody its vote, until a write ends', () => {
    const core = stalledFollower();
    core.elapse(2 * ELECTION_TIMEOUT_MS);
    const better = [5, 1] as const;
    expect(sent(core.receive(3, preVote(2, better)), 'pre-vote-response')).toMatchObject([{ granted: false }]);
    expect(sent(core.receive(3, vote(2, better)), 'vote-response')).toMatchObject([{ granted: false, term: 2 }]);
    core.durable();
    expect(sent(core.receive(3, preVote(3, better)), 'pre-vote-response')).toMatchObject([{ granted: true }]);
    expect(sent(core.receive(3, vote(3, better)), 'vote-response')).toMatchObject([{ granted: true, term: 3 }]);
  });

  it('does not stand when its leader transfers leadership to it', () => {
    const core = stalledFollower();
    expect(sent(core.receive(2, { type: 'timeout-now', term: core.status.term }), 'vote')).toEqual([]);
    expect(core.status.role).toBe('follower');
  });
});
