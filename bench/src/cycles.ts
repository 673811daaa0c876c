/**
 * Uncontended acquire+release cycles a second: each session takes and gives back a lock of its own, as fast as it is answered,
 * through the SDK. Servers write durably, as shipped.
 */

import { connect, type Client } from '@holdfast/client';

import { processorSeconds } from './processor-time.ts';
import { withScratchEnsemble } from './scratch-ensemble.ts';
import { median, percentile } from './statistics.ts';

export interface CyclesResult {
  readonly sessions: number;
  readonly windows: readonly number[];
  readonly cyclesPerSecond: number;
  readonly acquireP50Ms: number;
  readonly acquireP99Ms: number;
  /** Cores used by the leader, both followers together, and this process; undefined where /proc is missing. */
  readonly cores: { readonly leader: number; readonly followers: number; readonly generator: number } | undefined;
}

export interface CyclesOptions {
  readonly sessions: readonly number[];
  readonly windows: number;
  readonly windowMs: number;
  readonly warmUpMs: number;
  report(result: CyclesResult): void;
}

interface Load {
  cycles: number;
  running: boolean;
  latenciesMs: number[] | undefined;
}

export async function measureCycles(options: CyclesOptions): Promise<CyclesResult[]> {
  const results: CyclesResult[] = [];
  for (const sessions of options.sessions) {
    // A fresh ensemble each time: a log that grew in one row must not weigh on the next.
    const result = await withScratchEnsemble(async (ensemble) => {
      const leader = await ensemble.waitForLeader();
      const pids = ensemble.servers.map((id) => ({ leader: id === leader, pid: ensemble.pid(id) ?? 0 }));
      return await measureRow(ensemble.clientAddresses, pids, sessions, options);
    });
    options.report(result);
    results.push(result);
  }
  return results;
}

async function measureRow(
  servers: string[],
  pids: readonly { readonly leader: boolean; readonly pid: number }[],
  sessions: number,
  options: CyclesOptions,
): Promise<CyclesResult> {
  const clients: Client[] = [];
  for (let n = 0; n < sessions; n += 1) clients.push(await connect({ servers, sessionTimeoutMs: 30_000 }));
  const load: Load = { cycles: 0, running: true, latenciesMs: undefined };
  const loops = clients.map((client, n) => cycle(client, `bench/${n}`, load));
  await delay(options.warmUpMs);

  const windows: number[] = [];
  const latenciesMs: number[] = [];
  load.latenciesMs = latenciesMs;
  const began = performance.now();
  const before = usage(pids);
  for (let window = 0; window < options.windows; window += 1) {
    const cyclesBefore = load.cycles;
    const start = performance.now();
    await delay(options.windowMs);
    windows.push(((load.cycles - cyclesBefore) * 1_000) / (performance.now() - start));
  }
  const after = usage(pids);
  const seconds = (performance.now() - began) / 1_000;
  load.running = false;
  await Promise.all(loops);
  await Promise.all(clients.map((client) => client.close()));
  return {
    sessions,
    windows,
    cyclesPerSecond: median(windows),
    acquireP50Ms: percentile(latenciesMs, 0.5),
    acquireP99Ms: percentile(latenciesMs, 0.99),
    cores:
      before === undefined || after === undefined
        ? undefined
        : {
            leader: (after.leader - before.leader) / seconds,
            followers: (after.followers - before.followers) / seconds,
            generator: (after.generator - before.generator) / seconds,
          },
  };
}

async function cycle(client: Client, name: string, load: Load): Promise<void> {
  const lock = client.lock(name);
  while (load.running) {
    const start = performance.now();
    const held = await lock.acquire();
    load.latenciesMs?.push(performance.now() - start);
    await held.release();
    load.cycles += 1;
  }
}

function usage(
  pids: readonly { readonly leader: boolean; readonly pid: number }[],
): { leader: number; followers: number; generator: number } | undefined {
  const totals = { leader: 0, followers: 0, generator: 0 };
  for (const { leader, pid } of pids) {
    const seconds = processorSeconds(pid);
    if (seconds === undefined) return undefined;
    totals[leader ? 'leader' : 'followers'] += seconds;
  }
  const own = process.cpuUsage();
  totals.generator = (own.user + own.system) / 1e6;
  return totals;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
