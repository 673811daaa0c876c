import { describe, expect, it } from 'vitest';
import { logIndex, serverId, type Effect, type RaftEvent } from '../../../src/core/index.ts';
import { ScriptedCore, heartbeatResponse, ofType, sent } from '../support/scripted-core.ts';

const ELECTION_TIMEOUT_MS = 1_000;

function leader(servers = 3): ScriptedCore {
  const core = new ScriptedCore({
    servers,
    config: { electionTimeoutMs: ELECTION_TIMEOUT_MS, diskStallMs: ELECTION_TIMEOUT_MS },
  });
  core.leadInSync();
  return core;
}

/** Every `everyMs` a read, whose round the voices answer at once, so that no heartbeat ever falls due; with deadlines as the driver adds them. */
function readFor(core: ScriptedCore, ms: number, everyMs: number, voices: readonly number[] = core.peers): Effect[] {
  const effects: Effect[] = [];
  const step = (...events: RaftEvent[]): Effect[] => {
    const due = core.now >= core.core.deadline;
    const made = core.step(...events, ...(due ? [{ type: 'deadline' } as const] : []));
    effects.push(...made);
    return made;
  };
  for (let end = core.now + ms, ticket = 0; core.now < end && core.status.role === 'leader'; ticket += 1) {
    core.now += everyMs;
    for (const { to, round, term } of sent(step({ type: 'read-index', ticket }), 'heartbeat')) {
      if (!voices.includes(to)) continue;
      step({ type: 'message', from: to, message: heartbeatResponse(term, round) });
    }
  }
  return effects;
}

describe.each([10, 50, 90])('a leader that is asked for a read every %i ms', (everyMs) => {
  it('leads no longer when its disk hangs, and asks who has everything to stand [disk-stalled-leader-never-steps-down]', () => {
    const core = leader();
    core.propose('x');
    core.acknowledge(2, core.status.lastIndex);
    const effects = readFor(core, 1.2 * ELECTION_TIMEOUT_MS, everyMs);
    expect(core.status).toMatchObject({ role: 'follower', diskStalls: true });
    expect(sent(effects, 'timeout-now')).toMatchObject([{ to: 2 }]);
  });

  it('refuses the removal of a voter when another, silent one would be needed', () => {
    const core = leader();
    readFor(core, 1.2 * ELECTION_TIMEOUT_MS, everyMs, [2]);
    const change = { type: 'remove', id: serverId(2) } as const;
    const ended = ofType(core.step({ type: 'change-membership', ticket: 1, change }), 'membership-ended');
    expect(ended).toMatchObject([{ ticket: 1, outcome: { type: 'refused', reason: 'quorum-at-risk' } }]);
  });

  it('refuses to transfer leadership to a server that is silent, and holds nothing back for it', () => {
    const core = leader();
    readFor(core, 1.2 * ELECTION_TIMEOUT_MS, everyMs, [2]);
    const ended = ofType(core.step({ type: 'transfer', ticket: 1, target: serverId(3) }), 'transfer-ended');
    expect(ended).toMatchObject([{ outcome: 'target-unreachable' }]);
    core.propose('x');
    expect(core.status.lastIndex).toBe(2);
  });

  it('tells another follower first when the one that it told first is silent', () => {
    const core = new ScriptedCore({ config: { deferredFollowerDelayMs: 4 } });
    core.leadInSync();
    core.elapse(4);
    core.propose('for all');
    const [silent = serverId(0)] = sent(core.propose('x'), 'append').map(({ to }) => to);
    core.durable();
    core.elapse(4);
    for (const peer of core.peers) core.acknowledge(peer, core.status.lastIndex);
    const other = core.peers.find((peer) => peer !== silent) ?? 0;
    readFor(core, 1.2 * ELECTION_TIMEOUT_MS, everyMs, [other]);
    core.propose('for all');
    expect(sent(core.propose('y'), 'append').map(({ to }) => to)).toEqual([other]);
  });

  it('leads on as long as a majority answers', () => {
    const core = leader(5);
    readFor(core, 10 * ELECTION_TIMEOUT_MS, everyMs, [3, 5]);
    expect(core.status).toMatchObject({ role: 'leader', term: 1 });
    expect(core.status.commitIndex).toBe(logIndex(1));
  });
});

describe('the deadline of a leader', () => {
  it('is when the first of all that is due will be: the disk, the quorum, a transfer', () => {
    const due = (core: ScriptedCore): number => core.core.deadline - core.now;

    const disk = leader();
    disk.propose('x');
    readFor(disk, ELECTION_TIMEOUT_MS - 30, 10);
    expect(due(disk)).toBe(30);

    const silent = leader();
    for (let passed = 0; passed < ELECTION_TIMEOUT_MS - 40; passed += 10) {
      silent.now += 10;
      silent.step({ type: 'peer-disconnected', peer: serverId(2) }, { type: 'deadline' });
    }
    expect(due(silent)).toBe(40);

    const handing = leader();
    handing.step({ type: 'transfer', ticket: 1, target: serverId(2) });
    readFor(handing, ELECTION_TIMEOUT_MS - 20, 10);
    expect(due(handing)).toBe(20);
  });
});

describe('a leader hears a quorum', () => {
  it('or steps down an election timeout after it was heard last, whenever that was', () => {
    for (const lastHeardMs of [10, 400, 990, 1_010]) {
      const core = leader();
      readFor(core, lastHeardMs, 10);
      core.elapse(ELECTION_TIMEOUT_MS - 1);
      expect(core.status.role).toBe('leader');
      core.elapse(2);
      expect(core.status.role).toBe('follower');
    }
  });

  it('in the votes that made it leader, and nobody in those that it did not get', () => {
    const core = new ScriptedCore();
    core.stand();
    core.durable();
    core.receive(2, { type: 'vote-response', term: core.status.term, granted: true });
    expect(core.status.role).toBe('leader');
    const refusals = [2, 3].map((id) => {
      const effects = core.step({ type: 'transfer', ticket: id, target: serverId(id) });
      return ofType(effects, 'transfer-ended').map(({ outcome }) => outcome);
    });
    // The transfer to 2 is under way.
    expect(refusals).toEqual([[], ['in-progress']]);
    core.elapse(ELECTION_TIMEOUT_MS - 1);
    expect(core.status.role).toBe('leader');
    core.elapse(2);
    expect(core.status.role).toBe('follower');
    const other = new ScriptedCore();
    other.stand();
    other.durable();
    other.receive(2, { type: 'vote-response', term: other.status.term, granted: true });
    // For two heartbeats it may only not have had the time to answer.
    other.elapse(200);
    const effects = other.step({ type: 'transfer', ticket: 1, target: serverId(3) });
    expect(ofType(effects, 'transfer-ended')).toMatchObject([{ outcome: 'target-unreachable' }]);
  });

  it('is judged by the same sum as the deadline, so that no rounding makes a deadline at which nothing is due', () => {
    for (let part = 1; part <= 200; part += 1) {
      const core = new ScriptedCore();
      core.now += part / 7;
      core.step();
      core.lead();
      for (let deadlines = 0; core.status.role === 'leader'; deadlines += 1) {
        expect(deadlines).toBeLessThan(100);
        core.now = core.core.deadline;
        core.step({ type: 'deadline' });
      }
    }
  });
});
