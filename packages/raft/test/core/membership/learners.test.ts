import { describe, expect, it } from 'vitest';
import {
  EMPTY_CONFIGURATION,
  LOG_START,
  NO_SERVER,
  RaftCore,
  DEFAULT_RAFT_LIMITS,
  logIndex,
  serverId,
  term,
  withMember,
  type Configuration,
  type Effect,
} from '../../../src/core/index.ts';
import {
  three,
  added,
  change,
  promote,
  outcomes,
  configurations,
  makeDurable,
  withLearner,
  configurationEntry,
  appendOf,
} from '../support/membership.ts';
import { ScriptedCore, heartbeat, heartbeatResponse, ofType, sent, vote } from '../support/scripted-core.ts';

describe('a learner', () => {
  it('gets the log, and neither its vote nor its acknowledgement counts', () => {
    const core = withLearner();
    expect(sent(core.step(), 'append')).toEqual([]);
    core.propose('x');
    core.durable();
    core.acknowledge(4, core.status.lastIndex);
    expect(core.status.commitIndex).toBeLessThan(core.status.lastIndex);
  });

  it('becomes a voter by itself as soon as it has caught up', () => {
    const core = withLearner();
    const effects = core.acknowledge(4, core.status.lastIndex);
    const [joint] = configurations(effects);
    expect(joint?.members.map(({ id, role, outgoing }) => [id, role, outgoing])).toEqual([
      [1, 'voter', true],
      [2, 'voter', true],
      [3, 'voter', true],
      [4, 'voter', false],
    ]);
    const [final] = configurations(makeDurable(core, 2, 3, 4));
    expect(final?.members.every(({ role, outgoing }) => role === 'voter' && !outgoing)).toBe(true);
  });

  it('that is promoted goes on where it was: what it has acknowledged counts at once, and nothing is sent again [learner-promoted-replication-restarts]', () => {
    const core = withLearner();
    core.propose('x', 'y');
    core.durable();
    const before = core.status.lastIndex;
    const effects = core.acknowledge(4, before);
    expect(configurations(effects)).toHaveLength(1);
    expect(core.status.commitIndex).toBeLessThan(before);
    // The joint configuration alone, behind what it has; without waiting for an answer, so that it is no probe.
    expect(sent(effects, 'append').filter(({ to }) => to === 4)).toMatchObject([
      { prevIndex: before, entries: [{ index: before + 1 }] },
    ]);
    expect(sent(core.propose('z'), 'append').filter(({ to }) => to === 4)).toMatchObject([{ prevIndex: before + 1 }]);
    // Of the old voters 1 and 2, of the new ones 1, 2 and 4 with what it had acknowledged as a learner.
    core.acknowledge(2, before);
    expect(core.status.commitIndex).toBe(before);
  });

  it('that takes longer than an election timeout for what is new is not promoted, and can be asked for again [add-voter-before-catchup-freezes-quorum]', () => {
    const core = withLearner();
    const keepLeading = () => {
      for (const peer of [2, 3]) core.receive(peer, heartbeatResponse(core.status.term, 0));
      core.elapse(800);
    };
    const appended: Configuration[] = [];
    for (let round = 0; round < 12; round += 1) {
      const target = core.status.lastIndex;
      core.propose(`more ${round}`);
      core.durable();
      for (let part = 0; part < 3; part += 1) keepLeading();
      appended.push(...configurations(core.acknowledge(4, target)));
    }
    expect(appended).toEqual([]);
    appended.push(...configurations(core.acknowledge(4, core.status.lastIndex)));
    expect(appended).toEqual([]);
    makeDurable(core, 2);
    expect(configurations(change(core, promote(4)))).toHaveLength(1);
  });

  it('is promoted after a slow round when the next one is quick: each has the time of an election', () => {
    const core = withLearner();
    const target = core.status.lastIndex;
    core.propose('more');
    core.durable();
    for (let part = 0; part < 3; part += 1) {
      for (const peer of [2, 3]) core.receive(peer, heartbeatResponse(core.status.term, 0));
      core.elapse(800);
    }
    expect(configurations(core.acknowledge(4, target))).toEqual([]);
    core.propose('and more');
    core.durable();
    expect(configurations(core.acknowledge(4, core.status.lastIndex))).toHaveLength(1);
  });

  it('that never catches up ends the promotion that was asked for', () => {
    const core = withLearner(true);
    expect(outcomes(change(core, promote(4)))).toEqual([]);
    core.propose('more');
    core.durable();
    const effects: Effect[] = [];
    for (let part = 0; part < 20; part += 1) {
      for (const peer of [2, 3]) effects.push(...core.receive(peer, heartbeatResponse(core.status.term, 0)));
      effects.push(...core.elapse(800));
    }
    expect(outcomes(effects)).toEqual([{ type: 'refused', reason: 'not-caught-up' }]);
  });

  it('answers whoever asks for its vote: it may have been promoted by an entry that it does not have [promoted-learner-must-vote]', () => {
    const core = new ScriptedCore({ id: 4 });
    expect(core.core.configuration.configuration.members.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(sent(core.receive(9, vote(3, [5, 2])), 'vote-response')).toMatchObject([{ granted: true }]);
  });

  it('does not stand, whatever it does not hear', () => {
    const core = new ScriptedCore({ id: 4 });
    core.receive(1, heartbeat(1));
    expect(core.elapse(20_000).filter(({ type }) => type === 'send')).toEqual([]);
    expect(core.status).toMatchObject({ role: 'follower', term: 1, leader: NO_SERVER });
  });

  it('does not stand when its leader asks it to either', () => {
    const core = new ScriptedCore({ id: 4 });
    core.receive(1, heartbeat(1));
    expect(ofType(core.receive(1, { type: 'timeout-now', term: term(1) }), 'send')).toEqual([]);
    expect(core.status).toMatchObject({ role: 'follower', term: 1, leader: 1 });
  });

  it('is not asked for votes, and one that has the longest log does not block an election [learner-most-up-to-date-blocks-election]', () => {
    const core = withLearner();
    core.receive(2, heartbeatResponse(5, 0));
    const asked = core.elapse(5_000, () => core.status.role === 'pre-candidate');
    expect(sent(asked, 'pre-vote').map(({ to }) => to)).toEqual([2, 3]);
  });
});

describe('an observer', () => {
  it('stays without a vote until it is promoted', () => {
    const core = withLearner(true);
    expect(configurations(core.acknowledge(4, core.status.lastIndex))).toEqual([]);
    const [joint] = configurations(change(core, promote(4)));
    expect(joint?.members.find(({ id }) => id === 4)?.role).toBe('voter');
  });

  it('is not promoted while it is silent, though it has the whole log: a voter more could be one too many for a quorum', () => {
    const core = withLearner(true);
    core.acknowledge(4, core.status.lastIndex);
    makeDurable(core, 2, 3);
    const passHeard = (ms: number, ...voices: readonly number[]): Effect[] => {
      const effects: Effect[] = [];
      for (let passed = 0; passed < ms; passed += 100) {
        effects.push(...core.elapse(100));
        for (const peer of voices) effects.push(...core.receive(peer, heartbeatResponse(core.status.term, 0)));
      }
      return effects;
    };
    passHeard(1_500, 2, 3);
    expect(configurations(change(core, promote(4)))).toEqual([]);
    expect(configurations(passHeard(500, 2, 3))).toEqual([]);
    expect(configurations(passHeard(500, 2, 3, 4))).toHaveLength(1);
  });
});

describe('a server that waits to be added', () => {
  const waiting = () =>
    new RaftCore(
      { ...DEFAULT_RAFT_LIMITS, seed: 1, id: serverId(4), initial: EMPTY_CONFIGURATION },
      {
        hardState: { term: term(0), votedFor: NO_SERVER },
        base: LOG_START,
        snapshot: undefined,
        lastIndex: logIndex(0),
        terms: [],
        configurations: [],
      },
      0,
    );

  it('never stands, and takes the log of whoever leads', () => {
    const core = waiting();
    for (let now = 0; now < 20_000; now += 100) expect(core.step([{ type: 'deadline' }], now)).toEqual([]);
    const message = appendOf(3, [0, 0], [configurationEntry(1, 3, withMember(three, added(4)))]);
    const effects = core.step([{ type: 'message', from: serverId(1), message }], 20_000);
    expect(sent(effects, 'append-response')).toMatchObject([{ to: 1, accepted: true, index: 1 }]);
    expect(core.configuration.configuration.members.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  });
});
