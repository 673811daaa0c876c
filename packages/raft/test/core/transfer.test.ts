import { describe, expect, it } from 'vitest';
import { serverId, term, type Effect } from '../../src/core/index.ts';
import { Exchange } from './support/exchange.ts';
import { ScriptedCore, heartbeat, heartbeatResponse, ofType, sent } from './support/scripted-core.ts';

const transfer = { type: 'transfer' } as const;

function leader(): ScriptedCore {
  const core = new ScriptedCore();
  core.leadInSync();
  return core;
}

const outcomes = (effects: readonly Effect[]) => ofType(effects, 'transfer-ended').map(({ outcome }) => outcome);

describe('handing leadership over', () => {
  it('tells the follower with the longest acknowledged log to stand, which wins at once', () => {
    const servers = { 1: new ScriptedCore(), 2: new ScriptedCore({ id: 2 }), 3: new ScriptedCore({ id: 3 }) };
    const exchange = new Exchange(servers);
    for (let round = 0; round < 50 && servers[1].status.role !== 'leader'; round += 1)
      exchange.settle(1, servers[1].elapse(100));
    expect(servers[1].status.role).toBe('leader');
    exchange.settle(1, servers[1].propose('x'));
    const before = servers[1].status.term;
    exchange.settle(1, servers[1].step(transfer));
    expect(servers[2].status).toMatchObject({ role: 'leader', term: before + 1 });
    expect(servers[1].status).toMatchObject({ role: 'follower', term: before + 1 });
    expect(exchange.log.filter(({ message }) => message.type === 'timeout-now')).toHaveLength(1);
  });

  it('waits until all that the leader has is durable at the target', () => {
    const core = leader();
    core.propose('x');
    core.durable();
    expect(sent(core.step(transfer), 'timeout-now')).toEqual([]);
    expect(sent(core.elapse(300), 'timeout-now')).toEqual([]);
    expect(sent(core.acknowledge(2, 2), 'timeout-now')).toMatchObject([{ to: 2, term: 1 }]);
    expect(sent(core.acknowledge(3, 2), 'timeout-now')).toEqual([]);
  });

  it('refuses proposals meanwhile, so that the target stays up to date', () => {
    const core = leader();
    core.step(transfer);
    expect(ofType(core.propose('x'), 'proposals-rejected')).toMatchObject([{ reason: 'transferring' }]);
    expect(core.status.lastIndex).toBe(1);
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
    const effects: Effect[] = [];
    for (let count = 0; count < 11; count += 1) {
      const beats = core.elapse(100);
      effects.push(...beats);
      for (const { to, round } of sent(beats, 'heartbeat'))
        effects.push(...core.receive(to, heartbeatResponse(1, round)));
    }
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
        for (const { to, round } of sent(unanswered, 'heartbeat')) core.receive(to, heartbeatResponse(1, round));
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
  it('stands without asking for pre-votes, and its voters forget their loyalty', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.durable();
    const effects = core.receive(2, { type: 'timeout-now', term: term(1) });
    expect(sent(effects, 'pre-vote')).toEqual([]);
    expect(sent(effects, 'vote')).toMatchObject([{ transfer: true }, { transfer: true }]);
    expect(core.status).toMatchObject({ role: 'candidate', term: 2 });
  });

  it('goes on standing when a heartbeat of the old leader comes late', () => {
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
