import { describe, expect, it } from 'vitest';
import { logIndex, serverId, term, type Effect, type RaftConfig } from '../../../src/core/index.ts';
import { Exchange } from '../support/exchange.ts';
import { withLearner } from '../support/membership.ts';
import { ScriptedCore, heartbeat, heartbeatResponse, ofType, sent } from '../support/scripted-core.ts';

const transfer = { type: 'transfer', ticket: 1, target: undefined } as const;
const to = (target: number, ticket = 1) => ({ type: 'transfer', ticket, target: serverId(target) }) as const;
const text = (commands: readonly Uint8Array[]) => commands.map((command) => new TextDecoder().decode(command));

function leader(config: Partial<RaftConfig> = {}): ScriptedCore {
  const core = new ScriptedCore({ config });
  core.leadInSync();
  return core;
}

/** Time passes, and `voices` answer every heartbeat. */
function elapseHeard(core: ScriptedCore, ms: number, voices: readonly number[] = core.peers): Effect[] {
  const effects: Effect[] = [];
  for (let passed = 0; passed < ms; passed += 100) {
    const beats = core.elapse(100);
    effects.push(...beats);
    for (const { to: peer, round } of sent(beats, 'heartbeat')) {
      if (voices.includes(peer)) effects.push(...core.receive(peer, heartbeatResponse(1, round)));
    }
  }
  return effects;
}

const outcomes = (effects: readonly Effect[]) => ofType(effects, 'transfer-ended').map(({ outcome }) => outcome);

describe('transferring leadership', () => {
  it('tells the follower with the longest acknowledged log to stand, which wins at once', () => {
    const servers = { 1: new ScriptedCore(), 2: new ScriptedCore({ id: 2 }), 3: new ScriptedCore({ id: 3 }) };
    const exchange = new Exchange(servers);
    for (let round = 0; round < 50 && servers[1].status.role !== 'leader'; round += 1)
      exchange.deliverAll(1, servers[1].elapse(100));
    expect(servers[1].status.role).toBe('leader');
    exchange.deliverAll(1, servers[1].propose('x'));
    const before = servers[1].status.term;
    exchange.deliverAll(1, servers[1].step(transfer));
    expect(servers[2].status).toMatchObject({ role: 'leader', term: before + 1 });
    expect(servers[1].status).toMatchObject({ role: 'follower', term: before + 1 });
    expect(exchange.log.filter(({ message }) => message.type === 'timeout-now')).toHaveLength(1);
  });

  it('waits until all that the leader has is durable at the target [transfer-target-log-not-flushed]', () => {
    const core = leader();
    core.propose('x');
    core.durable();
    expect(sent(core.step(transfer), 'timeout-now')).toEqual([]);
    expect(sent(core.elapse(300), 'timeout-now')).toEqual([]);
    expect(sent(core.acknowledge(2, 2), 'timeout-now')).toMatchObject([{ to: 2, term: 1 }]);
    expect(sent(core.acknowledge(3, 2), 'timeout-now')).toEqual([]);
  });

  it('holds proposals back meanwhile, so that the target stays up to date [write-during-transfer]', () => {
    const core = leader();
    core.step(transfer);
    expect(ofType(core.propose('x'), 'proposals-rejected')).toEqual([]);
    expect(core.status.lastIndex).toBe(1);
  });

  it('gives what it held back to the driver, in order, for the successor', () => {
    const core = leader();
    core.step(transfer);
    core.propose('a', 'b');
    core.propose('c');
    const effects = core.receive(2, { type: 'vote', ...ask(2), transfer: true });
    const [back, ...more] = ofType(effects, 'proposals-rejected');
    expect(more).toEqual([]);
    expect(back?.reason).toBe('transferred');
    expect(text(back?.commands ?? [])).toEqual(['a', 'b', 'c']);
    expect(core.status.successor).toBe(2);
  });

  it('proposes what it held back itself, in order, when nobody takes over', () => {
    const core = leader();
    core.step(transfer);
    core.propose('a', 'b');
    core.propose('c');
    elapseHeard(core, 1_100);
    core.durable();
    const appended = core.core.entries(logIndex(2), logIndex(9), Infinity);
    core.acknowledge(2, 4);
    expect(appended).toEqual([]);
    expect(text((core.core.entries(logIndex(2), logIndex(9), Infinity) ?? []).map(({ data }) => data))).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('holds back no more than may be uncommitted, and nothing behind what it refused', () => {
    const core = leader({ maxUncommittedBytes: 200 });
    core.step(transfer);
    expect(ofType(core.propose('a', 'b'), 'proposals-rejected')).toEqual([]);
    const large = core.propose(new Uint8Array(100), 'c');
    expect(ofType(large, 'proposals-rejected')).toMatchObject([{ reason: 'overloaded' }]);
    expect(ofType(large, 'proposals-rejected')[0]?.commands).toHaveLength(2);
    expect(ofType(core.propose('d'), 'proposals-rejected')).toMatchObject([{ reason: 'overloaded' }]);
  });

  it('knows no successor when another server wins, in another term, or without having told the target', () => {
    const other = leader();
    other.step(to(2));
    other.receive(2, { type: 'vote', ...ask(2), transfer: true });
    other.receive(3, heartbeat(2));
    expect(other.status).toMatchObject({ leader: 3, successor: 0 });
    const later = leader();
    later.step(to(2));
    later.receive(3, heartbeat(3));
    expect(later.status.successor).toBe(0);
    const untold = leader();
    untold.propose('x');
    untold.step(to(2));
    const effects = [...untold.propose('y'), ...untold.receive(2, heartbeat(2))];
    expect(outcomes(effects)).toEqual(['lost-leadership']);
    expect(ofType(effects, 'proposals-rejected')).toMatchObject([{ reason: 'not-leader' }]);
    expect(untold.status).toMatchObject({ leader: 2, successor: 0 });
  });

  it('goes to the server that is named, and tells why it cannot', () => {
    const core = leader();
    expect(outcomes(core.step(to(1)))).toEqual(['already-leader']);
    expect(outcomes(core.step(to(7)))).toEqual(['unknown-target']);
    core.step({ type: 'peer-disconnected', peer: serverId(2) });
    expect(outcomes(core.step(to(2)))).toEqual(['target-unreachable']);
    expect(sent(core.step(to(3)), 'timeout-now')).toMatchObject([{ to: 3 }]);
    const early = new ScriptedCore();
    early.lead();
    early.durable();
    early.acknowledge(2, early.status.lastIndex);
    // It did not vote for the new leader, and has not had the time to answer it.
    expect(outcomes(early.step(to(3)))).toEqual([]);
    expect(sent(early.acknowledge(3, early.status.lastIndex), 'timeout-now')).toMatchObject([{ to: 3 }]);
    const mute = leader();
    elapseHeard(mute, 2_500, [2]);
    expect(mute.status.role).toBe('leader');
    expect(outcomes(mute.step(to(3)))).toEqual(['target-unreachable']);
    expect(sent(mute.step(to(2)), 'timeout-now')).toMatchObject([{ to: 2 }]);
  });

  it.each([false, true])(
    'does not go to a server without a vote (observer: %s), named or not [transfer-to-nonvoter]',
    (observer) => {
      const core = withLearner(observer);
      // It has everything, and the two others are gone.
      core.propose('x');
      core.durable();
      core.acknowledge(2, core.status.lastIndex);
      core.step({ type: 'applied', index: core.status.commitIndex });
      expect(outcomes(core.step(to(4)))).toEqual(['unknown-target']);
      for (const peer of [2, 3]) core.step({ type: 'peer-disconnected', peer: serverId(peer) });
      expect(outcomes(core.step(transfer))).toEqual(['no-target']);
      expect(core.status.role).toBe('leader');
    },
  );

  it('does not go to a server that lacks more than memory holds', () => {
    const core = leader({ tailBytes: 100 });
    for (const byte of ['a', 'b', 'c', 'd']) {
      core.propose(byte);
      core.durable();
      core.acknowledge(2, core.status.lastIndex);
      core.step({ type: 'applied', index: core.status.commitIndex });
    }
    expect(outcomes(core.step(to(3)))).toEqual(['target-behind']);
    expect(sent(core.step(transfer), 'timeout-now')).toMatchObject([{ to: 2 }]);
  });

  it('is over at once when the target is cut off, and the leader serves again', () => {
    const core = leader();
    core.step(to(3));
    core.propose('x');
    const effects = core.step({ type: 'peer-disconnected', peer: serverId(3) });
    expect(outcomes(effects)).toEqual(['target-unreachable']);
    expect(core.status.lastIndex).toBe(2);
    expect(outcomes(core.step(to(2)))).toEqual([]);
  });

  it('is shared by those who ask for the same, and refused to those who ask for another', () => {
    const core = leader();
    core.propose('x');
    const asked = core.step(to(2, 1), to(2, 2), { ...transfer, ticket: 3 }, to(3, 4));
    expect(ofType(asked, 'transfer-ended')).toEqual([
      { type: 'transfer-ended', tickets: [4], outcome: 'in-progress', target: 3 },
    ]);
    core.acknowledge(2, 2);
    const effects = core.receive(2, {
      type: 'vote',
      term: term(2),
      lastIndex: logIndex(2),
      lastTerm: term(1),
      transfer: true,
    });
    expect(ofType(effects, 'transfer-ended')).toMatchObject([
      { tickets: [1, 2, 3], outcome: 'transferred', target: 2 },
    ]);
  });

  it('ends when the leader steps down', () => {
    const core = leader();
    core.step(transfer);
    expect(outcomes(core.receive(2, { type: 'vote', ...ask(2), transfer: true }))).toEqual(['transferred']);
    expect(core.status).toMatchObject({ role: 'follower', term: 2, votedFor: 2 });
  });

  it('ends after an election timeout when nobody takes over; the leader then serves again', () => {
    const core = leader();
    core.step(transfer);
    const effects = elapseHeard(core, 1_100);
    expect(outcomes(effects)).toEqual(['timed-out']);
    expect(core.status.role).toBe('leader');
    expect(ofType(core.propose('x'), 'proposals-rejected')).toEqual([]);
    expect(sent(core.step({ type: 'read-index', ticket: 1 }), 'heartbeat')).toHaveLength(2);
  });

  it('is one, however often it is asked for', () => {
    const core = leader();
    core.step(transfer, transfer);
    const effects = core.step(transfer, {
      type: 'message',
      from: serverId(2),
      message: { type: 'vote', ...ask(2), transfer: true },
    });
    expect(outcomes(effects)).toEqual(['transferred']);
    expect(outcomes(core.elapse(900))).toEqual([]);
  });

  it('ends at once where it cannot begin', () => {
    expect(outcomes(new ScriptedCore().step(transfer))).toEqual(['not-leader']);
    const alone = new ScriptedCore({ servers: 1 });
    alone.lead();
    expect(outcomes(alone.step(transfer))).toEqual(['no-target']);
    const core = leader();
    for (const peer of core.peers) core.step({ type: 'peer-disconnected', peer: serverId(peer) });
    expect(outcomes(core.step(transfer))).toEqual(['no-target']);
  });

  it('finds a target at any time, right after a check of the quorum too', () => {
    for (let intervals = 1; intervals <= 25; intervals += 1) {
      const core = leader();
      let unanswered: Effect[] = [];
      for (let count = 0; count < intervals; count += 1) {
        for (const { to: peer, round } of sent(unanswered, 'heartbeat'))
          core.receive(peer, heartbeatResponse(1, round));
        unanswered = core.elapse(100);
      }
      expect(outcomes(core.step(transfer)), `after ${intervals} intervals`).toEqual([]);
    }
  });
});

function ask(of: number) {
  return { term: term(of), lastIndex: new ScriptedCore({ log: [1] }).status.lastIndex, lastTerm: term(1) };
}

describe('a server that is told to stand', () => {
  it('stands without asking for pre-votes, and its voters do not stick to their leader', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.durable();
    const effects = core.receive(2, { type: 'timeout-now', term: term(1) });
    expect(sent(effects, 'pre-vote')).toEqual([]);
    expect(sent(effects, 'vote')).toMatchObject([{ transfer: true }, { transfer: true }]);
    expect(core.status).toMatchObject({ role: 'candidate', term: 2 });
  });

  it('goes on standing when a heartbeat of the old leader comes late [transfer-reverts-on-heartbeat-with-prevote]', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.receive(2, { type: 'timeout-now', term: term(1) });
    const answer = core.receive(2, heartbeat(1));
    expect(core.status).toMatchObject({ role: 'candidate', term: 2 });
    expect(sent(answer, 'heartbeat-response')).toMatchObject([{ term: 2 }]);
  });

  it('ignores it from anybody but its leader, and of another term', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(3));
    core.receive(3, { type: 'timeout-now', term: term(3) });
    core.receive(2, { type: 'timeout-now', term: term(2) });
    core.receive(2, { type: 'timeout-now', term: term(4) });
    expect(core.status).toMatchObject({ role: 'follower', term: 3 });
  });
});
