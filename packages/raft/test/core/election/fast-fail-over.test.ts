import { describe, expect, it } from 'vitest';
import { serverId } from '../../../src/core/index.ts';
import { CoreCluster } from '../support/core-cluster.ts';
import { ScriptedCore, heartbeat, preVote, sent, vote } from '../support/scripted-core.ts';

const refused = { type: 'peer-refused', peer: serverId(2) } as const;

function clusterWithLeader(servers: number, seed: number): { cluster: CoreCluster; leader: number; term: number } {
  const cluster = new CoreCluster({ servers, seed });
  expect(cluster.run(10_000, () => cluster.leader !== undefined)).toBe(true);
  cluster.run(1_000);
  const { id = 0, core } = cluster.leader ?? {};
  return { cluster, leader: id, term: core?.status.term ?? 0 };
}

describe('a leader whose address refuses', () => {
  it.each([3, 5])('has a successor within a few rounds, %i servers', (servers) => {
    const waits: number[] = [];
    for (let seed = 1; seed <= 40; seed += 1) {
      const { cluster, leader } = clusterWithLeader(servers, seed);
      const before = cluster.now;
      cluster.crash(leader, true);
      expect(
        cluster.run(900, () => cluster.leader !== undefined),
        `seed ${seed}`,
      ).toBe(true);
      waits.push(cluster.now - before);
    }
    const median = waits.toSorted((a, b) => a - b)[waits.length / 2] ?? Infinity;
    expect(median).toBeLessThan(100);
  });

  it('is forgotten for votes and pre-votes alike', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    expect(sent(core.receive(3, preVote(2, [0, 0])), 'pre-vote-response')).toMatchObject([{ granted: false }]);
    core.step(refused);
    expect(core.status.leader).toBe(0);
    expect(sent(core.receive(3, preVote(2, [0, 0])), 'pre-vote-response')).toMatchObject([{ granted: true }]);
    expect(sent(core.receive(3, vote(2, [0, 0])), 'vote-response')).toMatchObject([{ granted: true }]);
  });

  it('makes its follower ask for pre-votes within 30 ms, again and again, and at last as rarely as ever', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.step(refused);
    const times: number[] = [];
    while (times.length < 14) {
      if (sent(core.elapse(1), 'pre-vote').length > 0) times.push(core.now);
    }
    expect(times[0]).toBeLessThanOrEqual(31);
    const gaps = times.slice(1).map((time, position) => time - (times[position] ?? 0));
    expect(Math.max(...gaps.slice(0, 9))).toBeLessThanOrEqual(202);
    expect(Math.min(...gaps.slice(10))).toBeGreaterThanOrEqual(999);
  });

  it('is followed again when it is heard again', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    core.step(refused);
    core.elapse(50);
    expect(core.status.role).toBe('pre-candidate');
    core.receive(2, heartbeat(1));
    expect(core.status).toMatchObject({ role: 'follower', leader: 2, term: 1 });
    core.elapse(900);
    expect(core.status.role).toBe('follower');
  });
});

describe('whatever is not a refusal of the leader', () => {
  it('deposes nobody: connections to it that close and are accepted again', () => {
    const { cluster, leader, term } = clusterWithLeader(3, 5);
    for (let flap = 0; flap < 20; flap += 1) {
      for (const id of cluster.ids) {
        if (id === leader) continue;
        cluster.event(id, { type: 'peer-disconnected', peer: serverId(leader) });
        cluster.event(id, { type: 'peer-connected', peer: serverId(leader) });
      }
      cluster.run(50);
    }
    expect(cluster.leader?.id).toBe(leader);
    expect(cluster.leader?.core.status.term).toBe(term);
  });

  it('leaves the timers as they are: a dial that hangs', () => {
    const { cluster, leader, term } = clusterWithLeader(3, 6);
    cluster.crash(leader, false);
    cluster.run(800);
    const others = cluster.nodes.filter(({ id }) => id !== leader);
    expect(others.map(({ core }) => [core.status.term, core.status.leader])).toEqual([
      [term, leader],
      [term, leader],
    ]);
    expect(cluster.run(10_000, () => cluster.leader !== undefined)).toBe(true);
  });

  it('changes nothing: another server that is gone', () => {
    const core = new ScriptedCore();
    core.receive(3, heartbeat(1));
    core.step(refused);
    core.elapse(500);
    expect(core.status).toMatchObject({ role: 'follower', leader: 3 });
  });

  it('changes nothing at a leader', () => {
    const core = new ScriptedCore();
    core.lead();
    core.step(refused);
    expect(core.status.role).toBe('leader');
  });
});
