/**
 * Faults that belong together, by the names that they have elsewhere: which servers are killed, how a network falls apart. Each is made of
 * faults of the listed nemeses, so that every target can inflict it, and a schedule that holds it can be shrunk fault by fault.
 */

import type { Random } from '@holdfast/runtime';
import type { Fault } from '../../nemeses/index.ts';
import { oneOf } from '../../plan/choices.ts';
import { holderOf, LEADER, lockName, serverHost, serverIds, type Plan } from '../../plan/plan.ts';
import type { FaultPattern, PatternDraw } from './pattern.ts';
import { MEMBER_PATTERNS } from './patterns/members.ts';
import { REPLICA_PATTERNS } from './patterns/replicas.ts';
import { STRANGER_PATTERNS } from './patterns/strangers.ts';
import { VERSION_PATTERNS } from './patterns/versions.ts';

/** How often a flapping link comes and goes. */
const FLAPS = 4;
/** How often a stutter stops a process. */
const STUTTERS = 8;
/** By which a signal has stopped a process. */
const AFTER_PAUSE_MS = 100;
/** Of the time of a turn that a restart takes, the rest is for the server to catch up. */
const RESTART_SHARE = 0.5;

function killOf(name: string, what: string, hostsOf: (draw: PatternDraw) => readonly string[]): FaultPattern {
  return {
    name,
    what,
    kinds: ['kill'],
    draw: (draw) => [{ kind: 'kill', atMs: draw.atMs, forMs: draw.forMs, hosts: hostsOf(draw) }],
  };
}

/** Stopped for half of the time, in short pieces. */
function stutterOf(name: string, what: string, hostOf: (draw: PatternDraw) => string): FaultPattern {
  return {
    name,
    what,
    kinds: ['pause'],
    draw(draw) {
      const { atMs, forMs } = draw;
      const pieceMs = forMs / STUTTERS;
      const host = hostOf(draw);
      return Array.from({ length: STUTTERS }, (_, n): Fault => ({
        kind: 'pause',
        atMs: Math.floor(atMs + n * pieceMs),
        forMs: Math.max(1, Math.floor(pieceMs / 2)),
        host,
      }));
    },
  };
}

/** What was not synced is gone from all of them. */
function powerLossOf(name: string, what: string, hostsOf: (draw: PatternDraw) => readonly string[]): FaultPattern {
  return {
    name,
    what,
    kinds: ['crash'],
    draw: (draw) => [{ kind: 'crash', atMs: draw.atMs, forMs: draw.forMs, hosts: hostsOf(draw), tear: 'none' }],
  };
}

function minority({ servers }: PatternDraw): readonly string[] {
  return servers.slice(0, Math.floor((servers.length - 1) / 2));
}

function majority({ servers }: PatternDraw): readonly string[] {
  return servers.slice(0, Math.floor(servers.length / 2) + 1);
}

function bothWays(pairs: readonly (readonly [string, string])[], { atMs, forMs }: PatternDraw): Fault[] {
  return pairs.flatMap(([one, other]): Fault[] => [
    { kind: 'cut', atMs, forMs, from: one, to: other },
    { kind: 'cut', atMs, forMs, from: other, to: one },
  ]);
}

/** Each server hears a majority, and no two the same one: a ring in which every server reaches its nearest neighbours. */
function ringCuts(servers: readonly string[]): [string, string][] {
  const reach = Math.floor(servers.length / 4) || 1;
  return pairsOf(servers).flatMap(([one, other]): [string, string][] => {
    const apart = Math.abs(servers.indexOf(one) - servers.indexOf(other));
    const distance = Math.min(apart, servers.length - apart);
    // Three servers are all neighbours: one link between two of them is missing.
    const missing = servers.length === 3 ? one === servers[0] && other === servers[1] : distance > reach;
    return missing ? [[one, other]] : [];
  });
}

function pairsOf(hosts: readonly string[]): [string, string][] {
  return hosts.flatMap((one, n) => hosts.slice(n + 1).map((other): [string, string] => [one, other]));
}

function anyHolder({ random, plan }: Pick<PatternDraw, 'random' | 'plan'>): string {
  return holderOf(lockName(random.integer(plan.locks)));
}

export const PATTERNS: readonly FaultPattern[] = [
  killOf('kill-leader', 'whoever leads is killed', () => [LEADER]),
  killOf('kill-minority', 'some servers are killed, and a majority is left', minority),
  killOf('kill-majority', 'a majority of the servers is killed', majority),
  killOf('kill-all', 'all servers are killed', ({ servers }) => servers),
  powerLossOf('power-loss-majority', 'a majority of the servers loses power, and what was not synced', majority),
  powerLossOf('power-loss-all', 'all servers lose power, and what was not synced', ({ servers }) => servers),
  {
    name: 'start-while-stopped',
    what: 'a server that a signal has stopped is started a second time',
    kinds: ['pause', 'second-start'],
    draw({ servers: [host = LEADER], atMs, forMs }) {
      return [
        { kind: 'pause', atMs, forMs, host },
        { kind: 'second-start', atMs: atMs + AFTER_PAUSE_MS, host },
      ];
    },
  },
  {
    name: 'pause-leader',
    what: 'whoever leads is stopped by a signal for a while',
    kinds: ['pause'],
    draw: ({ atMs, forMs }) => [{ kind: 'pause', atMs, forMs, host: LEADER }],
  },
  {
    name: 'pause-holder',
    what: 'whoever holds a lock is stopped until its session has expired',
    kinds: ['pause'],
    draw({ random, plan, atMs, forMs }) {
      const longestMs = Math.max(...plan.clients.map(({ sessionTimeoutMs }) => sessionTimeoutMs));
      const host = anyHolder({ random, plan });
      return [{ kind: 'pause', atMs, forMs: Math.max(forMs, Math.ceil(1.5 * longestMs)), host }];
    },
  },
  {
    name: 'isolate-leader',
    what: 'whoever leads reaches no other server; clients reach all',
    kinds: ['partition'],
    draw: ({ servers, atMs, forMs }) => [{ kind: 'partition', atMs, forMs, groups: [[LEADER], servers] }],
  },
  {
    name: 'halves',
    what: 'servers and clients fall into two groups that do not reach each other',
    kinds: ['partition'],
    draw(draw) {
      const { random, plan, servers, atMs, forMs } = draw;
      const few = minority(draw);
      const groups: [string[], string[]] = [[...few], servers.filter((each) => !few.includes(each))];
      for (const { name } of plan.clients) groups[random.integer(2)]?.push(name);
      return [{ kind: 'partition', atMs, forMs, groups }];
    },
  },
  {
    name: 'majorities-ring',
    what: 'every server reaches a majority, and no two the same',
    kinds: ['cut'],
    draw: (draw) => bothWays(ringCuts(draw.servers), draw),
  },
  {
    name: 'bridge',
    what: 'two groups of servers reach each other only through one server, which reaches all',
    kinds: ['cut'],
    draw(draw) {
      const [, ...ends] = draw.servers;
      const half = Math.ceil(ends.length / 2);
      const left = ends.slice(0, half);
      const pairs = left.flatMap((one) => ends.slice(half).map((other): [string, string] => [one, other]));
      return bothWays(pairs, draw);
    },
  },
  {
    name: 'one-way',
    what: 'whoever leads is heard by no server, or hears none',
    kinds: ['cut'],
    draw({ random, servers, atMs, forMs }) {
      const hears = oneOf(random, [true, false]);
      // A cut from a server to itself is none.
      return servers.map((server): Fault => {
        const [from, to] = hears ? [LEADER, server] : [server, LEADER];
        return { kind: 'cut', atMs, forMs, from, to };
      });
    },
  },
  {
    name: 'flapping',
    what: 'one server is cut off and comes back, again and again',
    kinds: ['partition'],
    draw({ servers, atMs, forMs }) {
      const [one = LEADER, ...others] = servers;
      const flapMs = forMs / FLAPS;
      return Array.from({ length: FLAPS }, (_, n): Fault => ({
        kind: 'partition',
        atMs: Math.floor(atMs + n * flapMs),
        forMs: Math.max(1, Math.floor(flapMs / 2)),
        groups: [[one], others],
      }));
    },
  },
  {
    name: 'rolling-restart',
    what: 'every server is told to stop and starts again, one after another',
    kinds: ['stop'],
    draw({ servers, atMs, forMs }) {
      const turnMs = forMs / servers.length;
      return servers.map((host, n): Fault => ({
        kind: 'stop',
        atMs: Math.floor(atMs + n * turnMs),
        forMs: Math.max(1, Math.floor(turnMs * RESTART_SHARE)),
        host,
      }));
    },
  },
  stutterOf('stutter-leader', 'whoever leads is stopped and goes on, again and again', () => LEADER),
  stutterOf('stutter-holder', 'whoever holds a lock is stopped and goes on, again and again', anyHolder),
  {
    name: 'damaged-log',
    what: "a bit of one server's log flips, and its power fails: it cuts its log there, and must not vote before it has it again",
    kinds: ['bit-flip', 'crash'],
    // Two servers that both lose a part of their logs may leave no majority that has it.
    draw({ random, plan, atMs, forMs }) {
      const host = serverHost(1 + (plan.seed % plan.servers));
      return [
        { kind: 'bit-flip', atMs, host, at: random.next(), bit: random.integer(8) },
        { kind: 'crash', atMs: atMs + Math.ceil(forMs / 2), forMs: Math.ceil(forMs / 4), hosts: [host], tear: 'none' },
      ];
    },
  },
  ...MEMBER_PATTERNS,
  ...VERSION_PATTERNS,
  ...STRANGER_PATTERNS,
  ...REPLICA_PATTERNS,
  {
    name: 'reconnect-all',
    what: 'the connections of all clients break at the same moment',
    kinds: ['break'],
    draw: ({ plan, servers, atMs }) =>
      plan.clients.flatMap(({ name }) =>
        servers.map((server): Fault => ({ kind: 'break', atMs, hosts: [name, server] })),
      ),
  },
];

/** Whether that is a pattern of what befalls replicas. */
export function isOfReplicas(name: string): boolean {
  return PATTERNS.some((pattern) => pattern.name === name && pattern.ofReplicas === true);
}

/** @throws TypeError when there is none of that name, or the plan has nobody whom it strikes */
export function drawPattern(
  name: string,
  random: Random,
  plan: Plan,
  times: { readonly atMs: number; readonly forMs: number },
  drawn: readonly Fault[] = [],
): readonly Fault[] {
  const pattern = PATTERNS.find((each) => each.name === name);
  if (pattern === undefined) throw new TypeError(`there is no pattern of faults "${name}"`);
  return pattern.draw({ random, plan, servers: shuffled(random, serverIds(plan).map(serverHost)), drawn, ...times });
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const left = [...list];
  return list.flatMap(() => left.splice(random.integer(left.length), 1));
}
