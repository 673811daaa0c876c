import { describe, expect, it } from 'vitest';
import {
  EMPTY_CONFIGURATION,
  EntryType,
  LOG_START,
  NO_SERVER,
  RaftCore,
  DEFAULT_RAFT_LIMITS,
  decodeConfiguration,
  encodeConfiguration,
  initialConfiguration,
  isJoint,
  jointPromotion,
  jointRemoval,
  logIndex,
  serverId,
  term,
  withMember,
  type Configuration,
  type Effect,
  type Entry,
  type MembershipChange,
} from '../../src/core/index.ts';
import {
  ScriptedCore,
  accepted,
  append,
  entry,
  heartbeat,
  heartbeatResponse,
  ofType,
  preVote,
  sent,
  vote,
} from './support/scripted-core.ts';

const three = initialConfiguration([1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));
const added = (id: number, role: 'learner' | 'observer' = 'learner') =>
  ({ id: serverId(id), peerAddress: `host:${id}`, clientAddress: '', incarnation: '', role, outgoing: false }) as const;

let tickets = 0;

function change(core: ScriptedCore, wanted: MembershipChange): Effect[] {
  tickets += 1;
  return core.step({ type: 'change-membership', ticket: tickets, change: wanted });
}

const add = (id: number, observer = false): MembershipChange => ({
  type: 'add',
  id: serverId(id),
  peerAddress: `host:${id}`,
  observer,
});
const remove = (id: number): MembershipChange => ({ type: 'remove', id: serverId(id) });
const promote = (id: number): MembershipChange => ({ type: 'promote', id: serverId(id) });

function outcomes(effects: readonly Effect[]): unknown[] {
  return ofType(effects, 'membership-ended').map(({ outcome }) => outcome);
}

function configurations(effects: readonly Effect[]): Configuration[] {
  return ofType(effects, 'persist')
    .flatMap(({ entries }) => entries)
    .filter(({ type }) => type === EntryType.configuration)
    .map(({ data }) => decodeConfiguration(data));
}

/** Everything so far is durable at this leader and at those peers. */
function settle(core: ScriptedCore, ...peers: number[]): Effect[] {
  const effects = [...core.durable()];
  for (const peer of peers) effects.push(...core.acknowledge(peer, core.status.lastIndex));
  return effects;
}

function leader(): ScriptedCore {
  const core = new ScriptedCore();
  core.leadInSync();
  return core;
}

/** Leads four, the last of them a learner that is connected. */
function withLearner(observer = false): ScriptedCore {
  const core = leader();
  change(core, add(4, observer));
  settle(core, 2);
  core.step({ type: 'peer-connected', peer: serverId(4) });
  return core;
}

function configurationEntry(index: number, entryTerm: number, configuration: Configuration): Entry {
  const data = encodeConfiguration(configuration);
  return { index: logIndex(index), term: term(entryTerm), type: EntryType.configuration, data };
}

function appendOf(messageTerm: number, [prevIndex, prevTerm]: readonly [number, number], entries: readonly Entry[]) {
  return { ...append(messageTerm, [prevIndex, prevTerm]), entries } as ReturnType<typeof append>;
}

describe('a change of the members', () => {
  it('is refused before an entry of the own term is committed', () => {
    const core = new ScriptedCore({ log: [1, 1], term: 1 });
    core.lead();
    core.durable();
    // What is of an older term may not be all that a predecessor committed (the erratum to thesis 4.1).
    expect(outcomes(change(core, add(4)))).toEqual([{ type: 'refused', reason: 'not-ready' }]);
    core.acknowledge(2, core.status.lastIndex);
    expect(configurations(change(core, add(4)))).toHaveLength(1);
  });

  it('is refused while another is under way, until its last configuration is committed', () => {
    const core = leader();
    change(core, remove(3));
    expect(outcomes(change(core, add(4)))).toEqual([{ type: 'refused', reason: 'change-under-way' }]);
    settle(core, 2, 3);
    // The joint one is committed, the last one is not.
    expect(core.core.configuration.configuration.members.map(({ id }) => id)).toEqual([1, 2]);
    expect(outcomes(change(core, add(4)))).toEqual([{ type: 'refused', reason: 'change-under-way' }]);
    settle(core, 2);
    expect(configurations(change(core, add(4)))).toHaveLength(1);
  });

  it('is refused, with the reason, where it makes no sense', () => {
    const reasons: [MembershipChange, string][] = [
      [add(3), 'id-used'],
      [{ type: 'add', id: serverId(9), peerAddress: 'host:2', observer: false }, 'address-used'],
      [remove(9), 'not-a-member'],
      [promote(9), 'not-a-member'],
      [promote(2), 'already-a-voter'],
    ];
    const core = leader();
    for (const [wanted, reason] of reasons) {
      expect(outcomes(change(core, wanted))).toEqual([{ type: 'refused', reason }]);
    }
    const follower = new ScriptedCore();
    expect(outcomes(change(follower, add(4)))).toEqual([{ type: 'refused', reason: 'not-leader' }]);
    const alone = new ScriptedCore({ servers: 1 });
    alone.lead();
    alone.durable();
    expect(outcomes(change(alone, remove(1)))).toEqual([{ type: 'refused', reason: 'last-voter' }]);
  });

  it('that would leave voters of whom too few are heard is refused', () => {
    const core = leader();
    core.step({ type: 'peer-disconnected', peer: serverId(3) });
    expect(outcomes(change(core, remove(2)))).toEqual([{ type: 'refused', reason: 'quorum-at-risk' }]);
    expect(configurations(change(core, remove(3)))).toHaveLength(1);
  });

  it('is refused during a hand-over', () => {
    const core = leader();
    core.propose('more');
    core.step({ type: 'transfer', ticket: 1, target: undefined });
    expect(outcomes(change(core, add(4)))).toEqual([{ type: 'refused', reason: 'transferring' }]);
  });

  it('that is joint goes no further while a server that has the whole log is asked to stand', () => {
    const core = leader();
    change(core, remove(3));
    core.acknowledge(2, core.status.lastIndex);
    expect(sent(core.step({ type: 'transfer', ticket: 1, target: serverId(2) }), 'timeout-now')).toMatchObject([
      { to: 2 },
    ]);
    expect(configurations(core.durable())).toEqual([]);
    expect(core.core.committedConfiguration.configuration.members.map(({ role }) => role)).toContain('leaving');
    // It does not lead: the change goes on.
    const effects = core.step({ type: 'peer-disconnected', peer: serverId(2) });
    expect(configurations(effects).map(({ members }) => members.map(({ id }) => id))).toEqual([[1, 2]]);
  });

  it('ends as unknown when leadership is lost', () => {
    const core = leader();
    change(core, add(4));
    expect(outcomes(core.receive(2, heartbeatResponse(9, 0)))).toEqual([{ type: 'unknown' }]);
  });

  it('never uses an id twice, not even one whose server was only a learner', () => {
    const core = withLearner(true);
    change(core, remove(4));
    settle(core, 2);
    expect(core.core.configuration.configuration.retired).toEqual([4]);
    expect(outcomes(change(core, add(4)))).toEqual([{ type: 'refused', reason: 'id-used' }]);
    expect(outcomes(change(core, remove(4)))).toEqual([{ type: 'refused', reason: 'already-removed' }]);
  });
});

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
    const [final] = configurations(settle(core, 2, 3, 4));
    expect(final?.members.every(({ role, outgoing }) => role === 'voter' && !outgoing)).toBe(true);
  });

  it('that takes longer than an election timeout for what is new is not promoted, and can be asked for again', () => {
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
    settle(core, 2);
    expect(configurations(change(core, promote(4)))).toHaveLength(1);
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

  it('answers whoever asks for its vote: it may have been promoted by an entry that it does not have', () => {
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

  it('is not asked for votes, and one that has the longest log does not block an election', () => {
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
});

describe('a joint configuration', () => {
  /** Leads 1, 2, 3 on the way to 2, 3, 4, 5 … here: with 4 promoted and both sets in force. */
  function joint(): ScriptedCore {
    const core = withLearner();
    core.acknowledge(4, core.status.lastIndex);
    expect(isJoint(core.core.configuration.configuration)).toBe(true);
    return core;
  }

  it('commits by a majority of the old voters and one of the new', () => {
    const core = joint();
    const { lastIndex } = core.status;
    core.durable();
    // 1 and 4: a majority of neither {1, 2, 3} nor {1, 2, 3, 4}.
    core.acknowledge(4, lastIndex);
    expect(core.status.commitIndex).toBeLessThan(lastIndex);
    // 1, 2 and 4: of both.
    core.acknowledge(2, lastIndex);
    expect(core.status.commitIndex).toBe(lastIndex);
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

  it('of a predecessor is ended by the next leader', () => {
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
    const [final] = configurations(settle(core, 1, 3, 4));
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

  it('is in force after a restart, committed or not', () => {
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
  it('leads until the configuration without it is committed, does not count itself for that, and hands over', () => {
    const core = leader();
    change(core, remove(1));
    settle(core, 2, 3);
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

  it('may stand again while that is not committed: it may be the only one that can win', () => {
    const core = leader();
    change(core, remove(1));
    settle(core, 2, 3);
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
  it('cannot depose a leader that the others hear', () => {
    const core = new ScriptedCore({ id: 2 });
    core.receive(1, heartbeat(1));
    const effects = core.receive(3, preVote(9, [99, 9]), vote(9, [99, 9]));
    expect(sent(effects, 'pre-vote-response')).toMatchObject([{ granted: false }]);
    expect(core.status).toMatchObject({ term: 1, leader: 1 });
  });

  it('is told that its removal is committed before nobody speaks to it any more', () => {
    const core = leader();
    change(core, remove(3));
    settle(core, 2, 3);
    core.durable();
    core.acknowledge(3, core.status.lastIndex);
    expect(core.core.spokenTo.map(({ id }) => id)).toEqual([1, 2, 3]);
    const effects = core.acknowledge(2, core.status.lastIndex);
    expect(sent(effects, 'commit')).toMatchObject([{ to: 3, commit: core.status.commitIndex }]);
    expect(core.core.spokenTo.map(({ id }) => id)).toEqual([1, 2]);
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

describe('what members tell of themselves', () => {
  const fact = (id: number, incarnation: string) => ({ id: serverId(id), incarnation, clientAddress: `client:${id}` });

  it('is recorded once, and an incarnation is never replaced', () => {
    const core = leader();
    const [first] = configurations(core.step({ type: 'member-facts', facts: [fact(1, 'aa'), fact(2, 'bb')] }));
    expect(first?.members.map(({ incarnation, clientAddress }) => [incarnation, clientAddress])).toEqual([
      ['aa', 'client:1'],
      ['bb', 'client:2'],
      ['', ''],
    ]);
    settle(core, 2, 3);
    expect(configurations(core.step({ type: 'member-facts', facts: [fact(1, 'aa'), fact(2, 'other')] }))).toEqual([]);
  });

  it('waits while a change is under way', () => {
    const core = leader();
    change(core, remove(3));
    expect(configurations(core.step({ type: 'member-facts', facts: [fact(2, 'bb')] }))).toEqual([]);
  });
});

describe('an acknowledgement of a server that is no member', () => {
  it('is not heard', () => {
    const core = leader();
    core.propose('x');
    core.durable();
    expect(core.receive(9, accepted(core.status.term, core.status.lastIndex))).toEqual([]);
    expect(core.status.commitIndex).toBeLessThan(core.status.lastIndex);
  });
});
