/**
 * A crowd that loses its leader: sessions in processes of their own, the leader killed under them, and the time until the last of them
 * has had an answer again. The killed server comes back before the next round.
 */

import type { LocalEnsemble } from '@holdfast/ensemble';

import { ClientProcess } from '../client-process.ts';
import { withScratchEnsemble } from '../scratch-ensemble.ts';
import type { CrowdOrder, CrowdReport, Served } from './orders.ts';

type CrowdProcess = ClientProcess<CrowdOrder, CrowdReport>;

export interface CrowdOptions {
  readonly sessions: number;
  readonly sessionTimeoutMs: number;
  /** Among which the sessions are divided. */
  readonly processes: number;
  readonly rounds: number;
  say(line: string): void;
  report(round: CrowdRound): void;
}

export interface CrowdRound {
  readonly round: number;
  readonly served: number;
  readonly lastMs: number;
  readonly medianMs: number;
  readonly expired: number;
  readonly terms: number;
  readonly clientSeconds: number;
  readonly failures: string;
}

/** The next leader shall be one that leads in a steady state, and clients shall have moved to it, as in a running system. */
const STEADY_MS = 5_000;
const STEADY_MS_PER_SESSION = 2;

export async function measureCrowd(options: CrowdOptions): Promise<CrowdRound[]> {
  return await withScratchEnsemble(async (ensemble) => {
    const entry = new URL('clients.js', import.meta.url);
    const children = Array.from({ length: options.processes }, (): CrowdProcess => new ClientProcess(entry));
    try {
      options.say(`gathering ${options.sessions} sessions in ${options.processes} processes`);
      await Promise.all(children.map((child, n) => child.ask(gatherOrder(options, ensemble, n))));
      const rounds: CrowdRound[] = [];
      for (let round = 1; round <= options.rounds; round += 1) {
        await new Promise((resolve) => setTimeout(resolve, STEADY_MS + options.sessions * STEADY_MS_PER_SESSION));
        const result = await strike(ensemble, children, round);
        options.report(result);
        rounds.push(result);
      }
      return rounds;
    } finally {
      await Promise.all(children.map((child) => child.end()));
    }
  });
}

function gatherOrder({ sessions, sessionTimeoutMs, processes }: CrowdOptions, ensemble: LocalEnsemble, n: number) {
  const share = Math.floor(sessions / processes) + (n < sessions % processes ? 1 : 0);
  const servers = ensemble.clientAddresses;
  return { type: 'gather', servers, sessions: share, sessionTimeoutMs, prefix: `crowd-${n}` } as const;
}

async function strike(ensemble: LocalEnsemble, children: readonly CrowdProcess[], round: number): Promise<CrowdRound> {
  const leader = await ensemble.waitForLeader();
  const termBefore = (await ensemble.status(leader))?.term ?? 0;
  const sinceMs = Date.now();
  await ensemble.kill(leader);
  const reports = await Promise.all(children.map((child) => child.ask({ type: 'struck', sinceMs })));
  const served = reports.filter((report): report is Served => report.type === 'served');
  const next = await ensemble.waitForLeader();
  const termAfter = (await ensemble.status(next))?.term ?? 0;
  await ensemble.restart(leader);
  const ms = served.flatMap((report) => report.ms).toSorted((a, b) => a - b);
  return {
    round,
    served: ms.length,
    lastMs: ms.at(-1) ?? 0,
    medianMs: ms[ms.length >> 1] ?? 0,
    expired: served.reduce((sum, { expired }) => sum + expired, 0),
    terms: termAfter - termBefore,
    clientSeconds: served.reduce((sum, { processorSeconds }) => sum + processorSeconds, 0),
    failures: describe(served),
  };
}

function describe(served: readonly Served[]): string {
  const counts = new Map<string, number>();
  for (const { failures } of served) {
    for (const [kind, count] of Object.entries(failures)) counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  return [...counts].map(([kind, count]) => `${count} × ${kind}`).join('; ');
}
