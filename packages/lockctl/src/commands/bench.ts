/** `lockctl bench`: what an ensemble does in a second, as its users would see it from here. It makes real load for a few seconds. */

import type { EnsembleClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { CommandFailure, reportFailure } from '../failure.ts';
import { writeJson } from '../output/json.ts';
import { renderTable } from '../output/table.ts';

export const DEFAULT_BENCH_CLIENTS = 8;
export const MAX_BENCH_CLIENTS = 256;
export const DEFAULT_BENCH_MS = 3_000;
export const MAX_BENCH_MS = 60_000;
/** What a node is given: about as much as a small configuration has. */
const DATA = new Uint8Array(100).fill(0x78);
/** A client that fails at once does not fail as fast as it can. */
const PAUSE_AFTER_FAILURE_MS = 100;

interface BenchOptions {
  /** Of each kind of work. */
  readonly forMs: number;
  /** Begins the names of its locks and nodes, and no other's. */
  readonly name: string;
}

interface Worker {
  readonly client: EnsembleClient;
  readonly number: number;
}

interface Work {
  readonly name: string;
  readonly what: string;
  readonly once: (worker: Worker, signal: AbortSignal) => Promise<void>;
}

interface BenchRow {
  readonly work: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly done: number;
  readonly failed: number;
}

/** @throws CommandFailure when nothing of some work was done */
export async function runBench(
  clients: readonly EnsembleClient[],
  options: BenchOptions,
  json: boolean,
  outside: Environment,
): Promise<void> {
  const [first] = clients;
  if (first === undefined) throw new TypeError('there must be a client');
  const stop = new AbortController();
  const unsubscribe = outside.onSignal((signal) => {
    if (signal !== 'SIGTSTP') stop.abort();
  });
  const path = `/${options.name}`;
  const rows: BenchRow[] = [];
  let failure: string | undefined;
  await first.nodes.create(path, DATA, { sequential: false, container: false });
  try {
    const workers = clients.map((client, number) => ({ client, number }));
    for (const work of worksOf(options.name)) {
      if (stop.signal.aborted) break;
      const { row, error } = await measure(work, workers, options.forMs, stop.signal, outside);
      rows.push(row);
      failure ??= error;
    }
  } finally {
    unsubscribe();
    await first.nodes.delete(path, {});
  }
  if (json) writeJson(outside, { clients: clients.length, rows });
  else outside.writeOut(render(rows, clients.length));
  const idle = rows.find(({ done }) => done === 0);
  if (idle !== undefined) throw new CommandFailure(`not one ${idle.work} was done: ${failure ?? 'it was interrupted'}`);
  if (failure !== undefined) outside.writeError(`lockctl: some failed, the first so: ${failure}\n`);
}

function worksOf(name: string): readonly Work[] {
  const cycle = async ({ client }: Worker, lock: string, signal: AbortSignal): Promise<void> => {
    const held = await client.lock(lock).acquire({ signal });
    await held.release();
  };
  return [
    {
      name: 'lock',
      what: 'lock and release, a lock for each client',
      once: (worker, signal) => cycle(worker, `${name}-${worker.number}`, signal),
    },
    {
      name: 'hand-over',
      what: 'lock and release, one lock for all clients',
      once: (worker, signal) => cycle(worker, name, signal),
    },
    {
      name: 'write',
      what: 'set of one node of 100 bytes',
      once: async ({ client }) => void (await client.nodes.set(`/${name}`, DATA, {})),
    },
    {
      name: 'read',
      what: 'linearizable read of that node',
      once: async ({ client }) => void (await client.nodes.get(`/${name}`, {})),
    },
  ];
}

async function measure(
  work: Work,
  workers: readonly Worker[],
  forMs: number,
  stopped: AbortSignal,
  outside: Environment,
): Promise<{ readonly row: BenchRow; readonly error: string | undefined }> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, stopped]);
  const tookMs: number[] = [];
  let failed = 0;
  let error: string | undefined;
  const cancel = outside.after(forMs, () => over.abort());
  const fromMs = outside.elapsedMs();
  const repeat = async (worker: Worker): Promise<void> => {
    while (!signal.aborted) {
      const beganMs = outside.elapsedMs();
      try {
        await work.once(worker, signal);
        tookMs.push(outside.elapsedMs() - beganMs);
      } catch (problem) {
        // A wait that the end has cut short has not failed.
        if (signal.aborted) return;
        failed += 1;
        error ??= reportFailure(problem).message;
        await new Promise<void>((resolve) => void outside.after(PAUSE_AFTER_FAILURE_MS, resolve));
      }
    }
  };
  await Promise.all(workers.map(repeat));
  cancel();
  const seconds = Math.max(1, outside.elapsedMs() - fromMs) / 1_000;
  return { row: { work: work.name, ...figures(tookMs, seconds), failed }, error };
}

function figures(tookMs: readonly number[], seconds: number): Omit<BenchRow, 'work' | 'failed'> {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (share: number): number => rounded(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
  return {
    perSecond: Math.round(sorted.length / seconds),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
    done: sorted.length,
  };
}

function rounded(ms = 0): number {
  return Math.round(ms * 100) / 100;
}

function render(rows: readonly BenchRow[], clients: number): string {
  const whats = new Map(worksOf('').map(({ name, what }) => [name, what]));
  const table = renderTable(
    ['WORK', 'PER SECOND', 'P50 MS', 'P99 MS', 'MAX MS', 'FAILED', 'WHAT IT IS'],
    rows.map(({ work, perSecond, p50Ms, p99Ms, maxMs, failed }) => [
      work,
      String(perSecond),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      maxMs.toFixed(2),
      String(failed),
      whats.get(work) ?? '',
    ]),
  );
  return `${table}By ${clients} ${clients === 1 ? 'client' : 'clients'}, each of which waits for its answer.\n`;
}
