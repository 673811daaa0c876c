import { describe, expect, it } from 'vitest';
import { serverId, type MembershipChange } from '../../../src/core/index.ts';
import {
  change,
  add,
  remove,
  promote,
  outcomes,
  configurations,
  makeDurable,
  leader,
  withLearner,
} from '../support/membership.ts';
import { ScriptedCore, accepted, heartbeatResponse, sent } from '../support/scripted-core.ts';

describe('a change of the members', () => {
  it('is refused before an entry of the own term is committed [single-server-change-before-own-term-commit]', () => {
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
    makeDurable(core, 2, 3);
    // The joint one is committed, the last one is not.
    expect(core.core.configuration.configuration.members.map(({ id }) => id)).toEqual([1, 2]);
    expect(outcomes(change(core, add(4)))).toEqual([{ type: 'refused', reason: 'change-under-way' }]);
    makeDurable(core, 2);
    expect(configurations(change(core, add(4)))).toHaveLength(1);
  });

  it('is refused, with the reason, where it makes no sense [change-silently-became-noop]', () => {
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
    core.now += 100;
    core.step({ type: 'deadline' });
    core.now += 100;
    core.step({ type: 'deadline' });
    expect(outcomes(change(core, remove(2)))).toEqual([{ type: 'refused', reason: 'quorum-at-risk' }]);
    expect(configurations(change(core, remove(3)))).toHaveLength(1);
  });

  it('that needs a voter which a new leader has not heard yet is refused for the moment, for two heartbeats', () => {
    const core = new ScriptedCore();
    core.lead();
    core.durable();
    core.acknowledge(2, core.status.lastIndex);
    core.step({ type: 'applied', index: core.status.commitIndex });
    expect(outcomes(change(core, remove(2)))).toEqual([{ type: 'refused', reason: 'not-ready' }]);
    core.elapse(200);
    expect(outcomes(change(core, remove(2)))).toEqual([{ type: 'refused', reason: 'quorum-at-risk' }]);
    core.acknowledge(3, core.status.lastIndex);
    expect(configurations(change(core, remove(2)))).toHaveLength(1);
  });

  it.each([1, 2])(
    'of two voters to one ends, whether the leader (1) or its follower goes: server %i [two-voter-remove-deadlock]',
    (goes) => {
      const stays = 3 - goes;
      const core = new ScriptedCore({ servers: 2 });
      core.leadInSync();
      change(core, remove(goes));
      const joint = core.status.lastIndex;
      core.durable();
      // Joint: a majority of two is both of them.
      expect(core.status.commitIndex).toBeLessThan(joint);
      core.acknowledge(2, joint);
      expect(core.core.configuration.configuration.members.map(({ id }) => id)).toEqual([stays]);
      const last = core.status.lastIndex;
      // The last configuration is committed by the one voter that is left, alone.
      const effects = stays === 1 ? core.durable() : core.acknowledge(2, last);
      expect(core.status.commitIndex).toBe(last);
      expect(outcomes(effects)).toEqual([{ type: 'changed', index: last }]);
      expect(core.status.role).toBe(stays === 1 ? 'leader' : 'follower');
    },
  );

  it('of two voters to one that finds the other dead goes on when that is back, and freezes nothing before', () => {
    const core = new ScriptedCore({ servers: 2 });
    core.leadInSync();
    core.step({ type: 'peer-disconnected', peer: serverId(2) });
    // The one that is left is heard, and yet the joint configuration needs both: it waits, and the log goes on behind it.
    expect(configurations(change(core, remove(2)))).toHaveLength(1);
    core.propose('meanwhile');
    core.durable();
    expect(core.status.commitIndex).toBe(1);
    core.step({ type: 'peer-connected', peer: serverId(2) });
    core.acknowledge(2, core.status.lastIndex);
    makeDurable(core);
    expect(core.core.committedConfiguration.configuration.members.map(({ id }) => id)).toEqual([1]);
    core.propose('alone');
    core.durable();
    expect(core.status.commitIndex).toBe(core.status.lastIndex);
  });

  it('is refused during a transfer', () => {
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

  it('never uses an id twice, not even one whose server was only a learner [same-id-readded]', () => {
    const core = withLearner(true);
    change(core, remove(4));
    makeDurable(core, 2);
    expect(core.core.configuration.configuration.retired).toEqual([4]);
    expect(outcomes(change(core, add(4)))).toEqual([{ type: 'refused', reason: 'id-used' }]);
    expect(outcomes(change(core, remove(4)))).toEqual([{ type: 'refused', reason: 'already-removed' }]);
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
    makeDurable(core, 2, 3);
    expect(configurations(core.step({ type: 'member-facts', facts: [fact(1, 'aa'), fact(2, 'other')] }))).toEqual([]);
  });

  it('leaves the join secret where it is: a member that lags may know no more of it', () => {
    const core = leader();
    const wanted = {
      type: 'add',
      id: serverId(4),
      peerAddress: 'host:4',
      observer: true,
      joinSecret: 'printed',
    } as const;
    const [added] = configurations(change(core, wanted));
    expect(added?.members.at(-1)).toMatchObject({ id: 4, joinSecret: 'printed', incarnation: '' });
    makeDurable(core, 2, 3);
    const [told] = configurations(core.step({ type: 'member-facts', facts: [fact(4, 'dd')] }));
    expect(told?.members.at(-1)).toMatchObject({ id: 4, joinSecret: 'printed', incarnation: 'dd' });
  });

  it('waits while a change is under way', () => {
    const core = leader();
    change(core, remove(3));
    expect(configurations(core.step({ type: 'member-facts', facts: [fact(2, 'bb')] }))).toEqual([]);
  });
});

describe('a server that is added with another join secret', () => {
  const adding = (joinSecret: string, port = 4): MembershipChange => ({
    type: 'add',
    id: serverId(4),
    peerAddress: `host:${port}`,
    observer: false,
    joinSecret,
  });
  function withAdded(): ScriptedCore {
    const core = leader();
    change(core, adding('mistyped'));
    makeDurable(core, 2, 3);
    return core;
  }

  it('has that one, while it was never heard', () => {
    const core = withAdded();
    const [corrected] = configurations(change(core, adding('printed')));
    expect(corrected?.members.at(-1)).toMatchObject({ id: 4, joinSecret: 'printed', role: 'learner' });
    expect(corrected?.members).toHaveLength(4);
  });

  it.each([
    ['it was heard', 'printed', 4, true],
    ['it is the same one', 'mistyped', 4, false],
    ['there is none', '', 4, false],
    ['the address is another', 'printed', 5, false],
  ])('is refused as a member when %s', (_, joinSecret, port, heard) => {
    const core = withAdded();
    if (heard) {
      core.step({ type: 'member-facts', facts: [{ id: serverId(4), incarnation: 'dd', clientAddress: 'client:4' }] });
      makeDurable(core, 2, 3);
    }
    expect(outcomes(change(core, adding(joinSecret, port)))).toEqual([{ type: 'refused', reason: 'id-used' }]);
  });

  it('is refused as a member when it was added without one', () => {
    const core = leader();
    change(core, add(4));
    makeDurable(core, 2, 3);
    expect(outcomes(change(core, adding('printed')))).toEqual([{ type: 'refused', reason: 'id-used' }]);
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
