import { describe, expect, it } from 'vitest';
import {
  LOG_START,
  NO_SERVER,
  RaftCore,
  DEFAULT_RAFT_LIMITS,
  encodeConfiguration,
  isJoint,
  jointPromotion,
  jointRemoval,
  logIndex,
  serverId,
  term,
  withMember,
} from '../../../src/core/index.ts';
import {
  three,
  added,
  change,
  remove,
  outcomes,
  configurations,
  makeDurable,
  leader,
  withLearner,
  configurationEntry,
  appendOf,
} from '../support/membership.ts';
import {
  ScriptedCore,
  append,
  entry,
  heartbeat,
  heartbeatResponse,
  ofType,
  preVote,
  sent,
  vote,
} from '../support/scripted-core.ts';

describe('a joint configuration', () => {
  /** Leads 1, 2, 3 on the way to 2, 3, 4, 5 … here: with 4 promoted and both sets in force. */
  function joint(): ScriptedCore {
    const core = withLearner();
    core.acknowledge(4, core.status.lastIndex);
    expect(isJoint(core.core.configuration.configuration)).toBe(true);
    return core;
  }

  it('commits by a majority of the old voters and one of the new [joint-quorum-ignored]', () => {
    const core = joint();
    const { lastIndex } = core.status;
    core.durable();
    // 1 and 4: a majority of neither {1, 2, 3} nor {1, 2, 3, 4}.
    core.acknowledge(4, lastIndex);
    expect(core.status.commitIndex).toBeLessThan(lastIndex);
    // 1, 2 and 4: of both.
    core.acknowledge(2, lastIndex);
    expect(core.status.commitIndex).toBe(lastIndex);
    const other = joint();
    other.durable();
    // 1 and 2: a majority of the old ones alone.
    other.acknowledge(2, lastIndex);
    expect(other.status.commitIndex).toBeLessThan(lastIndex);
    other.acknowledge(3, lastIndex);
    expect(other.status.commitIndex).toBe(lastIndex);
  });

  it('elects by both majorities', () => {
    const core = joint();
    core.receive(2, heartbeatResponse(7, 0));
    core.elapse(5_000, () => core.status.role === 'pre-candidate');
    const asked = term(core.status.term + 1);
    const grant = { type: 'pre-vote-response', term: asked, askedTerm: asked, granted: true } as const;
    core.receive(4, grant);
    core.receive(3, grant);
    expect(core.status.role).toBe('candidate');
    core.durable();
    core.receive(4, { type: 'vote-response', term: asked, granted: true });
    expect(core.status.role).toBe('candidate');
    core.receive(3, { type: 'vote-response', term: asked, granted: true });
    expect(core.status.role).toBe('leader');
  });

  it('confirms reads by both majorities', () => {
    const core = joint();
    core.step({ type: 'read-index', ticket: 77 });
    const round = 1_000;
    const first = core.receive(4, heartbeatResponse(core.status.term, round));
    expect(ofType(first, 'read-ready')).toEqual([]);
    const second = core.receive(2, heartbeatResponse(core.status.term, round));
    expect(ofType(second, 'read-ready')).toMatchObject([{ tickets: [77] }]);
  });

  it('of a predecessor is ended by the next leader [new-leader-ignores-uncommitted-config]', () => {
    const core = new ScriptedCore({ id: 2 });
    const learner = withMember(three, added(4));
    const way = jointPromotion(learner, serverId(4));
    core.receive(1, appendOf(1, [0, 0], [configurationEntry(1, 1, learner), configurationEntry(2, 1, way)]));
    core.durable();
    core.step({ type: 'peer-connected', peer: serverId(4) });
    core.stand();
    core.receive(4, { type: 'pre-vote-response', term: term(2), askedTerm: term(2), granted: true });
    core.durable();
    for (const peer of [1, 3, 4]) core.receive(peer, { type: 'vote-response', term: term(2), granted: true });
    expect(core.status.role).toBe('leader');
    const [final] = configurations(makeDurable(core, 1, 3, 4));
    expect(final?.members.map(({ id, role, outgoing }) => [id, role, outgoing])).toEqual([
      [1, 'voter', false],
      [2, 'voter', false],
      [3, 'voter', false],
      [4, 'voter', false],
    ]);
  });
});

describe('a configuration in the log', () => {
  it('counts from when it is appended, and no longer when its entry is removed', () => {
    const core = new ScriptedCore({ id: 2 });
    core.receive(1, appendOf(1, [0, 0], [entry(1, 1), configurationEntry(2, 1, jointRemoval(three, serverId(3)))]));
    expect(core.core.configuration.index).toBe(2);
    core.receive(3, append(2, [1, 1], [2]));
    expect(core.core.configuration).toMatchObject({ index: 0, configuration: three });
  });

  it('has no say in an election any more when its entry is removed', () => {
    const core = new ScriptedCore({ id: 2 });
    core.receive(1, appendOf(1, [0, 0], [entry(1, 1), configurationEntry(2, 1, jointRemoval(three, serverId(3)))]));
    core.receive(3, append(2, [1, 1], [2]));
    core.durable();
    const asked = core.elapse(5_000, () => core.status.role === 'pre-candidate');
    expect(sent(asked, 'pre-vote').map(({ to }) => to)).toEqual([1, 3]);
    // 2 and 3: a majority of the three, and not of the two that would have stayed.
    core.receive(3, { type: 'pre-vote-response', term: term(3), askedTerm: term(3), granted: true });
    expect(core.status.role).toBe('candidate');
    core.durable();
    core.receive(3, { type: 'vote-response', term: term(3), granted: true });
    expect(core.status.role).toBe('leader');
  });

  it('is in force after a restart, committed or not [config-lost-on-leader-restart]', () => {
    const next = withMember(three, added(4));
    const core = new RaftCore(
      { ...DEFAULT_RAFT_LIMITS, seed: 1, id: serverId(1), initial: three },
      {
        hardState: { term: term(1), votedFor: NO_SERVER },
        base: LOG_START,
        snapshot: undefined,
        lastIndex: logIndex(2),
        terms: [{ term: term(1), firstIndex: logIndex(1) }],
        configurations: [{ index: logIndex(2), data: encodeConfiguration(next) }],
      },
      0,
    );
    expect(core.configuration).toEqual({ index: 2, configuration: next });
    expect(core.committedConfiguration).toEqual({ index: 0, configuration: three });
  });
});

describe('a leader that is removed', () => {
  it('leads until the configuration without it is committed, does not count itself for that, and transfers leadership [removed-leader-keeps-leading]', () => {
    const core = leader();
    change(core, remove(1));
    makeDurable(core, 2, 3);
    expect(core.status.role).toBe('leader');
    expect(core.core.configuration.configuration.members.map(({ id }) => id)).toEqual([2, 3]);
    const { lastIndex } = core.status;
    core.durable();
    core.acknowledge(2, lastIndex);
    // Its own disk and server 2: but 1 is no voter of the last configuration.
    expect(core.status).toMatchObject({ role: 'leader', commitIndex: lastIndex - 1 });
    const effects = core.acknowledge(3, lastIndex);
    expect(core.status).toMatchObject({ role: 'follower', commitIndex: lastIndex });
    expect(outcomes(effects)).toEqual([{ type: 'changed', index: lastIndex }]);
    expect(sent(effects, 'timeout-now')).toHaveLength(1);
    expect(core.elapse(20_000).filter(({ type }) => type === 'send')).toEqual([]);
  });

  it('may stand again while that is not committed: it may be the only one that can win [leader-steps-down-before-removal-commits]', () => {
    const core = leader();
    change(core, remove(1));
    makeDurable(core, 2, 3);
    core.durable();
    core.receive(2, heartbeatResponse(9, 0));
    const asked = core.elapse(5_000, () => core.status.role === 'pre-candidate');
    expect(sent(asked, 'pre-vote').map(({ to }) => to)).toEqual([2, 3]);
    const grant = { type: 'pre-vote-response', term: term(10), askedTerm: term(10), granted: true } as const;
    core.receive(2, grant);
    expect(core.status.role).toBe('pre-candidate');
    core.receive(3, grant);
    expect(core.status.role).toBe('candidate');
  });
});

describe('a removed server', () => {
  it('cannot depose a leader that the others hear [removed-or-demoted-server-disrupts]', () => {
    const core = new ScriptedCore({ id: 2 });
    core.receive(1, heartbeat(1));
    const effects = core.receive(3, preVote(9, [99, 9]), vote(9, [99, 9]));
    expect(sent(effects, 'pre-vote-response')).toMatchObject([{ granted: false }]);
    expect(core.status).toMatchObject({ term: 1, leader: 1 });
  });

  it('is told that its removal is committed before nobody speaks to it any more', () => {
    const core = leader();
    change(core, remove(3));
    makeDurable(core, 2, 3);
    core.durable();
    core.acknowledge(3, core.status.lastIndex);
    expect(core.core.replicationTargets.map(({ id }) => id)).toEqual([1, 2, 3]);
    const effects = core.acknowledge(2, core.status.lastIndex);
    expect(sent(effects, 'commit')).toMatchObject([{ to: 3, commit: core.status.commitIndex }]);
    expect(core.core.replicationTargets.map(({ id }) => id)).toEqual([1, 2]);
  });
});
