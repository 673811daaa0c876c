/** Patterns of what befalls the replicas of a fenced store, the ensemble that keeps their configuration, and both at once. */

import type { Fault } from '../../../nemeses/index.ts';
import { oneOf } from '../../../plan/choices.ts';
import { LEADER, PRIMARY, replicaHosts } from '../../../plan/plan.ts';
import type { FaultPattern, PatternDraw } from '../pattern.ts';

/** Of the time of a turn that a restart takes, the rest is for the replica to catch up. */
const RESTART_SHARE = 0.5;

/** @throws TypeError where the plan has none */
function replicasOf({ plan }: PatternDraw): readonly string[] {
  const hosts = replicaHosts(plan);
  if (hosts.length === 0) throw new TypeError('there are no replicas to strike; the workload replicated-kv has some');
  return hosts;
}

function anyReplica(draw: PatternDraw): string {
  return oneOf(draw.random, replicasOf(draw));
}

function killOf(name: string, what: string, hostsOf: (draw: PatternDraw) => readonly string[]): FaultPattern {
  return {
    name,
    what,
    kinds: ['kill'],
    ofReplicas: true,
    draw: (draw) => [{ kind: 'kill', atMs: draw.atMs, forMs: draw.forMs, hosts: hostsOf(draw) }],
  };
}

function pauseOf(name: string, what: string, hostOf: (draw: PatternDraw) => string): FaultPattern {
  return {
    name,
    what,
    kinds: ['pause'],
    ofReplicas: true,
    draw: (draw) => [{ kind: 'pause', atMs: draw.atMs, forMs: draw.forMs, host: hostOf(draw) }],
  };
}

/** `groupsOf`: a host that is in two belongs to the first. */
function partitionOf(
  name: string,
  what: string,
  groupsOf: (draw: PatternDraw) => readonly (readonly (readonly string[])[])[],
): FaultPattern {
  return {
    name,
    what,
    kinds: ['partition'],
    ofReplicas: true,
    draw: (draw) =>
      groupsOf(draw).map((groups): Fault => ({ kind: 'partition', atMs: draw.atMs, forMs: draw.forMs, groups })),
  };
}

/** Everybody is in one of two groups, and each has a server and a replica. */
function halves(draw: PatternDraw): readonly (readonly string[])[] {
  const { random, plan, servers } = draw;
  const first = servers.slice(0, Math.floor((servers.length - 1) / 2));
  const replicas = replicasOf(draw);
  const alone = oneOf(random, replicas);
  const withFew = oneOf(random, [true, false]);
  const groups: [string[], string[]] = [[...first], servers.filter((each) => !first.includes(each))];
  for (const replica of replicas) groups[(replica === alone) === withFew ? 0 : 1].push(replica);
  for (const { name } of plan.clients) groups[random.integer(2) === 0 ? 0 : 1].push(name);
  return groups;
}

export const REPLICA_PATTERNS: readonly FaultPattern[] = [
  killOf('kill-primary', 'the replica that serves is killed', () => [PRIMARY]),
  killOf('kill-replica', 'some replica is killed', (draw) => [anyReplica(draw)]),
  killOf('kill-replicas', 'all replicas are killed', replicasOf),
  killOf('kill-leader-primary', 'whoever leads, and the replica that serves, are killed', () => [LEADER, PRIMARY]),
  pauseOf('pause-primary', 'the replica that serves is stopped by a signal for a while', () => PRIMARY),
  pauseOf('pause-replica', 'some replica is stopped by a signal for a while', anyReplica),
  {
    name: 'restart-replicas',
    what: 'every replica is told to stop and starts again, one after another',
    kinds: ['stop'],
    ofReplicas: true,
    draw(draw) {
      const hosts = replicasOf(draw);
      const turnMs = draw.forMs / hosts.length;
      return hosts.map((host, n): Fault => ({
        kind: 'stop',
        atMs: Math.floor(draw.atMs + n * turnMs),
        forMs: Math.max(1, Math.floor(turnMs * RESTART_SHARE)),
        host,
      }));
    },
  },
  {
    name: 'power-loss-replicas',
    what: 'all replicas lose power, and what was not synced',
    kinds: ['crash'],
    ofReplicas: true,
    draw: (draw) => [{ kind: 'crash', atMs: draw.atMs, forMs: draw.forMs, hosts: replicasOf(draw), tear: 'none' }],
  },
  partitionOf(
    'isolate-primary',
    'the replica that serves reaches no other one; clients and servers reach all',
    (draw) => [[[PRIMARY], replicasOf(draw)]],
  ),
  partitionOf('isolate-replica', 'some replica reaches nobody', (draw) => {
    const { plan, servers } = draw;
    const alone = anyReplica(draw);
    return [[[alone], [...replicasOf(draw), ...servers, ...plan.clients.map(({ name }) => name)]]];
  }),
  partitionOf('replicas-apart', 'no replica reaches another one; clients and servers reach all', (draw) => [
    replicasOf(draw).map((replica) => [replica]),
  ]),
  partitionOf('primary-ensemble', 'the replica that serves reaches no server; it reaches the others', (draw) => [
    [[PRIMARY], draw.servers],
  ]),
  partitionOf('replicas-ensemble', 'no replica reaches a server; they reach each other', (draw) => [
    [replicasOf(draw), draw.servers],
  ]),
  partitionOf('isolate-both', 'whoever leads reaches no other server, and who serves no other replica', (draw) => [
    [[LEADER], draw.servers],
    [[PRIMARY], replicasOf(draw)],
  ]),
  partitionOf('halves-of-both', 'servers, replicas and clients fall into two groups, each with some of all', (draw) => [
    halves(draw),
  ]),
  {
    name: 'primary-one-way',
    what: 'the replica that serves is heard by no other one, or hears none',
    kinds: ['cut'],
    ofReplicas: true,
    draw(draw) {
      const hears = oneOf(draw.random, [true, false]);
      // A cut from a replica to itself is none.
      return replicasOf(draw).map((replica): Fault => {
        const [from, to] = hears ? [PRIMARY, replica] : [replica, PRIMARY];
        return { kind: 'cut', atMs: draw.atMs, forMs: draw.forMs, from, to };
      });
    },
  },
];
