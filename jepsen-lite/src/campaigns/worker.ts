/** A thread that runs seeds one after another: worlds take the whole of a thread's globals, so each thread runs one at a time. */

import { parentPort } from 'node:worker_threads';
import { runSeed } from '../targets/sim/run.ts';
import { reportOf, type SeedReport } from './seed-report.ts';

export interface SeedRequest {
  readonly seed: number;
  /** Runs it a second time, which must take the same path. */
  readonly twice: boolean;
  /** What every client does, and nothing else. @default drawn */
  readonly workloads?: readonly string[];
}

// Errors are frequent in these worlds and their stacks dear; whoever runs a failing seed by itself gets them.
Error.stackTraceLimit = 0;

parentPort?.on('message', (request: SeedRequest) => {
  run(request).then(
    (report) => parentPort?.postMessage(report),
    // Nothing in a run may get here: it would be the harness's own fault, and must not pass for a silent worker.
    (error: unknown) => queueMicrotask(() => throwAside(error)),
  );
});

async function run({ seed, twice, ...options }: SeedRequest): Promise<SeedReport> {
  const report = reportOf(await runSeed(seed, options));
  if (!twice || report.failure !== undefined) return report;
  const again = await runSeed(seed, options);
  if (again.traceHash === report.traceHash) return report;
  const message = `two runs of seed ${seed} took different paths: ${report.traceHash} and ${again.traceHash}`;
  return { ...report, failure: { name: 'same-seed-same-run', message }, scenario: again.scenario };
}

function throwAside(error: unknown): never {
  throw error;
}
