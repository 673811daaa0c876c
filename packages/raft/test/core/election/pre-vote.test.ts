import { describe, expect, it } from 'vitest';
import { term } from '../../../src/core/index.ts';
import { CoreCluster } from '../support/core-cluster.ts';
import { Exchange } from '../support/exchange.ts';
import { ScriptedCore, heartbeat, ofType, preVote, sent } from '../support/scripted-core.ts';

describe('a pre-vote', () => {
  it('changes nothing at the server that is asked: no term, no vote, no write, no timer [prevote-resets-vote] [prevote-refreshes-leader-contact]', () => {
    const standsAt = (asked: boolean) => {
      const core = new ScriptedCore();
      core.receive(2, heartbeat(1));
      core.durable();
      core.elapse(700);
      if (asked) {
        const before = core.status;
        const effects = core.receive(3, preVote(2, [9, 1]));
        expect(ofType(effects, 'persist')).toEqual([]);
        expect(core.status).toEqual(before);
      }
      core.elapse(5_000, () => core.status.role !== 'follower');
      return core.now;
    };
    expect(standsAt(true)).toBe(standsAt(false));
  });

  it('that is granted is no vote [prevote-reply-counted-as-vote]', () => {
    const core = new ScriptedCore();
    core.stand();
    core.durable();
    for (const askedTerm of [core.status.term, term(core.status.term + 1)]) {
      core.receive(3, { type: 'pre-vote-response', term: askedTerm, askedTerm, granted: true });
    }
    expect(core.status).toMatchObject({ role: 'candidate', term: 1 });
  });

  it('that comes late starts no campaign of a leader [late-prevote-after-win-starts-campaign]', () => {
    const core = new ScriptedCore();
    core.lead();
    const before = core.status;
    const late = core.receive(3, { type: 'pre-vote-response', term: term(2), askedTerm: term(2), granted: true });
    expect(sent(late, 'vote')).toEqual([]);
    expect(core.status).toEqual(before);
  });

  it('of a lower term is refused with the higher one, which the asker takes and goes on from [prevote-lower-term-deadlock]', () => {
    const ahead = new ScriptedCore({ id: 2, term: 5 });
    const [refusal] = sent(ahead.receive(1, preVote(3, [9, 2])), 'pre-vote-response');
    expect(refusal).toMatchObject({ granted: false, term: 5 });
    const behind = new ScriptedCore({ term: 2 });
    behind.elapse(5_000, () => behind.status.role === 'pre-candidate');
    behind.receive(2, { type: 'pre-vote-response', term: term(5), askedTerm: term(3), granted: false });
    expect(behind.status).toMatchObject({ role: 'follower', term: 5 });
    const asked = behind.elapse(5_000, () => behind.status.role === 'pre-candidate');
    expect(sent(asked, 'pre-vote')).toMatchObject([{ term: 6 }, { term: 6 }]);
  });

  it('lets one server with the longer log and one with the higher term elect a leader [prevote-long-log-vs-high-term-deadlock]', () => {
    const long = new ScriptedCore({ log: [1, 1, 1] });
    const high = new ScriptedCore({ id: 2, log: [1], term: 9 });
    const exchange = new Exchange({ 1: long, 2: high });
    for (let round = 0; round < 20 && long.status.role !== 'leader'; round += 1) exchange.elapse(400);
    expect(long.status.role).toBe('leader');
    expect(high.status.leader).toBe(1);
  });

  it('of the leader itself is granted: it has given up, being restarted [prevote-from-current-leader-rejected]', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    expect(sent(core.receive(2, preVote(2, [0, 0])), 'pre-vote-response')).toMatchObject([{ granted: true }]);
    expect(sent(core.receive(3, preVote(2, [0, 0])), 'pre-vote-response')).toMatchObject([{ granted: false }]);
  });

  it('is granted by a follower that has not heard its leader for an election timeout and does not stand yet', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.elapse(999);
    expect(sent(core.receive(3, preVote(2, [0, 0])), 'pre-vote-response')).toMatchObject([{ granted: false }]);
    core.elapse(1.5);
    expect(core.status).toMatchObject({ role: 'follower', leader: 2 });
    expect(sent(core.receive(3, preVote(2, [0, 0])), 'pre-vote-response')).toMatchObject([{ granted: true }]);
  });

  it('is granted among followers that still know a leader which is silent: one of them is elected [prevote-checkquorum-keeps-stale-leader-id]', () => {
    for (const [seed, other] of [
      [1, 2],
      [3, 4],
      [5, 6],
    ] as const) {
      const [two, three] = [
        new ScriptedCore({ id: 2, config: { seed } }),
        new ScriptedCore({ id: 3, config: { seed: other } }),
      ];
      const exchange = new Exchange({ 2: two, 3: three });
      for (const [id, server] of [
        [2, two],
        [3, three],
      ] as const)
        exchange.deliverAll(id, server.receive(1, heartbeat(1)));
      expect([two.status.leader, three.status.leader]).toEqual([1, 1]);
      // Neither hears 1 any more, nor that its connection closed.
      for (let round = 0; round < 60 && two.status.role !== 'leader' && three.status.role !== 'leader'; round += 1)
        exchange.elapse(100);
      expect([two.status.role, three.status.role].toSorted()).toEqual(['follower', 'leader']);
    }
  });

  it('is refused by a leader that was elected an election timeout after it had begun its round', () => {
    const core = new ScriptedCore();
    core.stand();
    core.durable();
    for (let waitedMs = 0; waitedMs <= 1_000; waitedMs += 50) {
      core.now += 50;
      core.step();
    }
    core.receive(2, { type: 'vote-response', term: core.status.term, granted: true });
    expect(core.status.role).toBe('leader');
    expect(sent(core.receive(3, preVote(3, [9, 9])), 'pre-vote-response')).toMatchObject([{ granted: false }]);
  });

  it('is granted by a leader that has stepped down since it heard no quorum: it sticks to nobody, itself included', () => {
    const core = new ScriptedCore();
    core.lead();
    core.durable();
    core.elapse(5_000, () => core.status.role !== 'leader');
    const { term: own, lastIndex } = core.status;
    expect(core.status.leader).toBe(0);
    const effects = core.receive(3, preVote(own + 1, [lastIndex, own]));
    expect(sent(effects, 'pre-vote-response')).toMatchObject([{ granted: true }]);
  });

  it('is refused by a leader', () => {
    const core = new ScriptedCore();
    core.lead();
    expect(sent(core.receive(3, preVote(9, [9, 8])), 'pre-vote-response')).toMatchObject([{ granted: false }]);
  });
});

describe('a server that was cut off', () => {
  it.each([3, 5])('comes back without disturbing anybody, %i servers [rejoin-with-inflated-term]', (servers) => {
    const cluster = new CoreCluster({ servers, seed: 11 });
    cluster.run(10_000, () => cluster.leader !== undefined);
    cluster.run(1_000);
    const leader = cluster.leader;
    const { term: before } = leader?.core.status ?? {};
    const away = cluster.ids.find((id) => id !== leader?.id) ?? 0;
    cluster.isolate(away);
    cluster.run(30_000);
    expect(cluster.node(away).core.status.term).toBe(before);
    cluster.heal(false);
    cluster.run(10_000);
    expect(cluster.leader?.id).toBe(leader?.id);
    expect(cluster.nodes.map((node) => node.core.status.term)).toEqual(cluster.ids.map(() => before));
  });
});
