/**
 * Many clients with recursive watches lose their leader, while what they watch goes on changing: how long it takes until the last of them
 * is told everything at another server, and whether each of them was told every change once.
 */

import { connect } from '@holdfast/client';
import type { LocalEnsemble } from '@holdfast/ensemble';

import { secondsOf } from '../../machine/processor-time.ts';
import { ClientProcess } from '../client-process.ts';
import { withScratchEnsemble } from '../scratch-ensemble.ts';
import { Changes } from './changes.ts';
import { sum, type Comparison } from './comparison.ts';
import type { ResumeOrder, ResumeReport } from './orders.ts';
import { COMMON, ROOT, parentOf, parentsFor } from './parents.ts';

export interface ResumeOptions {
  readonly clients: number;
  readonly sessionTimeoutMs: number;
  /** Among which the clients are divided. */
  readonly processes: number;
  readonly rounds: number;
  /** Before each kill, and that much longer for each client: the leader leads in a steady state, and clients have moved to it. */
  readonly steadyMs: number;
  say(line: string): void;
  report(round: ResumeRound): void;
}

export interface ResumeRound extends Comparison {
  readonly round: number;
  readonly resumed: number;
  readonly lastMs: number;
  readonly medianMs: number;
  readonly expired: number;
  /** Watches that have ended, so far. */
  readonly broken: number;
  readonly changes: number;
  /** Processor time of the servers that were left, and of the clients, until the last had resumed. */
  readonly serverSeconds: number;
  readonly clientSeconds: number;
}

type Processes = readonly ClientProcess<ResumeOrder, ResumeReport>[];

const STEADY_MS_PER_CLIENT = 2;
/** Of changes, before the leader is killed. */
const LEAD_MS = 1_000;

export async function measureResume(options: ResumeOptions): Promise<ResumeRound[]> {
  const { clients, processes, rounds, steadyMs } = options;
  return await withScratchEnsemble(async (ensemble) => {
    const parents = parentsFor(clients);
    await createParents(ensemble, parents);
    const entry = new URL('clients.js', import.meta.url);
    const children: Processes = Array.from({ length: processes }, () => new ClientProcess(entry));
    try {
      options.say(`gathering ${clients} clients in ${processes} processes`);
      await Promise.all(children.map((child, n) => child.ask(gatherOrder(options, ensemble, n))));
      const results: ResumeRound[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        await pause(steadyMs + clients * STEADY_MS_PER_CLIENT);
        const result = await strike(ensemble, children, { round, parents });
        options.report(result);
        results.push(result);
      }
      return results;
    } finally {
      await Promise.all(children.map((child) => child.end()));
    }
  });
}

async function createParents(ensemble: LocalEnsemble, parents: number): Promise<void> {
  const client = await connect({ servers: ensemble.clientAddresses });
  try {
    await client.nodes.create(ROOT);
    await client.nodes.create(COMMON);
    await Promise.all(Array.from({ length: parents }, (_, n) => client.nodes.create(parentOf(n))));
    await Promise.all(Array.from({ length: parents }, (_, n) => client.nodes.create(`${parentOf(n)}/n`)));
  } finally {
    await client.close();
  }
}

function gatherOrder(options: ResumeOptions, ensemble: LocalEnsemble, n: number): ResumeOrder {
  const { clients, processes, sessionTimeoutMs } = options;
  const first = Math.floor((clients * n) / processes);
  const count = Math.floor((clients * (n + 1)) / processes) - first;
  const servers = ensemble.clientAddresses;
  return { type: 'gather', servers, first, count, sessionTimeoutMs, parents: parentsFor(clients) };
}

async function strike(
  ensemble: LocalEnsemble,
  children: Processes,
  { round, parents }: { readonly round: number; readonly parents: number },
): Promise<ResumeRound> {
  const leader = await ensemble.waitForLeader();
  const followers = ensemble.clientAddresses.filter((_, at) => ensemble.servers[at] !== leader);
  const changes = await Changes.begin(followers, parents);
  await pause(LEAD_MS);
  const sinceMs = Date.now();
  await ensemble.kill(leader);
  const left = ensemble.servers.filter((id) => id !== leader).map((id) => ensemble.pid(id) ?? 0);
  const before = secondsOf(left);
  const mark = changes.mark(`round-${round}`);
  const reports = await Promise.all(children.map((child) => child.ask({ type: 'struck', sinceMs, mark })));
  const serverSeconds = secondsOf(left) - before;
  const made = await changes.end();
  const compared = await Promise.all(children.map((child) => child.ask({ type: 'compare', changes: made })));
  await ensemble.restart(leader);
  await ensemble.waitUntilReady();
  const resumed = reports.filter((report) => report.type === 'resumed');
  const comparisons = compared.filter((report) => report.type === 'compared');
  const ms = resumed.flatMap((report) => report.ms).toSorted((a, b) => a - b);
  return {
    round,
    resumed: ms.length,
    lastMs: ms.at(-1) ?? 0,
    medianMs: ms[ms.length >> 1] ?? 0,
    expired: total(resumed.map(({ expired }) => expired)),
    broken: total(comparisons.map(({ broken }) => broken)),
    changes: total(made.map(([, indexes]) => indexes.length)),
    serverSeconds,
    clientSeconds: total(resumed.map(({ processorSeconds }) => processorSeconds)),
    ...sum(comparisons),
  };
}

function total(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
