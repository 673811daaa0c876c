/** What one acquire+release cycle costs a server, beyond what the server does in the same time when nobody asks anything. */

import { readFileSync } from 'node:fs';

import { median } from '../statistics.ts';
import type { CountedEnsemble, CountedServer } from './counted-ensemble.ts';
import type { CountedLoad } from './counted-load.ts';
import { SystemCallCount } from './system-calls.ts';

export const COSTS = ['systemCalls', 'durableWrites', 'writtenBytes', 'allocatedBytes'] as const;
export type CostName = (typeof COSTS)[number];
export type Costs = Readonly<Record<CostName, number>>;

/** Of the leader, and of the follower that it tells at once: what another one costs depends on how much comes in the time that it waits. */
export interface RoleCosts {
  readonly leader: Costs;
  readonly follower: Costs;
}

const NOTHING: Costs = { systemCalls: 0, durableWrites: 0, writtenBytes: 0, allocatedBytes: 0 };

/** Of each cost by itself. */
export function medianCosts(counts: readonly RoleCosts[]): RoleCosts {
  const of = (role: keyof RoleCosts): Costs => ({
    systemCalls: median(counts.map((count) => count[role].systemCalls)),
    durableWrites: median(counts.map((count) => count[role].durableWrites)),
    writtenBytes: median(counts.map((count) => count[role].writtenBytes)),
    allocatedBytes: median(counts.map((count) => count[role].allocatedBytes)),
  });
  return { leader: of('leader'), follower: of('follower') };
}

/** Everything that one server did while `work` ran, and how long that took. */
interface Spent {
  readonly costs: readonly Costs[];
  readonly seconds: number;
}

/** A second of each server with nothing to do. */
export async function idleCosts(
  ensemble: CountedEnsemble,
  servers: readonly CountedServer[],
  idleMs: number,
): Promise<Costs[]> {
  const { costs, seconds } = await spend(
    ensemble,
    servers,
    () => new Promise((resolve) => setTimeout(resolve, idleMs)),
  );
  return costs.map((cost) => scale(cost, 1 / seconds));
}

export async function cycleCosts(
  ensemble: CountedEnsemble,
  servers: readonly CountedServer[],
  idle: readonly Costs[],
  load: CountedLoad,
): Promise<RoleCosts> {
  const { costs, seconds } = await spend(ensemble, servers, () => load.run());
  const [leader = NOTHING, ...followers] = costs.map((cost, n) =>
    scale(subtract(cost, scale(idle[n] ?? NOTHING, seconds)), 1 / load.cycles),
  );
  const follower = followers.reduce((busiest, one) => (one.systemCalls > busiest.systemCalls ? one : busiest), NOTHING);
  return { leader, follower };
}

async function spend(
  ensemble: CountedEnsemble,
  servers: readonly CountedServer[],
  work: () => Promise<void>,
): Promise<Spent> {
  const allocatedBefore = await Promise.all(servers.map((server) => ensemble.allocated(server)));
  const counts = await Promise.all(servers.map(({ pid }) => SystemCallCount.begin(pid)));
  const writtenBefore = servers.map(({ pid }) => writtenBytes(pid));
  const begun = performance.now();
  await work();
  const seconds = (performance.now() - begun) / 1_000;
  const writtenAfter = servers.map(({ pid }) => writtenBytes(pid));
  const systemCalls = await Promise.all(counts.map((count) => count.end()));
  const allocatedAfter = await Promise.all(servers.map((server) => ensemble.allocated(server)));
  const costs = servers.map((_, n): Costs => {
    const before = allocatedBefore[n];
    const after = allocatedAfter[n];
    if (before === undefined || after === undefined || after.collections !== before.collections) {
      throw new Error('a server collected garbage while its allocations were counted; count fewer cycles');
    }
    return {
      systemCalls: systemCalls[n]?.total ?? 0,
      durableWrites: systemCalls[n]?.durableWrites ?? 0,
      writtenBytes: (writtenAfter[n] ?? 0) - (writtenBefore[n] ?? 0),
      allocatedBytes: after.bytes - before.bytesAfterCollection,
    };
  });
  return { costs, seconds };
}

/** To sockets and files, by all threads. */
function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
}

function scale(costs: Costs, factor: number): Costs {
  return combine(costs, NOTHING, (value) => value * factor);
}

function subtract(a: Costs, b: Costs): Costs {
  return combine(a, b, (x, y) => x - y);
}

function combine(a: Costs, b: Costs, by: (a: number, b: number) => number): Costs {
  return {
    systemCalls: by(a.systemCalls, b.systemCalls),
    durableWrites: by(a.durableWrites, b.durableWrites),
    writtenBytes: by(a.writtenBytes, b.writtenBytes),
    allocatedBytes: by(a.allocatedBytes, b.allocatedBytes),
  };
}
