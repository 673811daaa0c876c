/** Runs many seeds on a few threads and adds up what they did. */

import { Worker } from 'node:worker_threads';
import type { SeedReport } from './seed-report.ts';
import type { SeedRequest } from './worker.ts';

export interface CampaignOptions {
  readonly from: number;
  readonly to: number;
  readonly jobs: number;
  /** So many seeds, the first ones, are run twice. */
  readonly twice: number;
  /** What every client does, and nothing else. @default drawn */
  readonly workloads?: readonly string[];
  readonly onReport: (report: SeedReport) => void;
}

/** Large enough that what an event makes is mostly gone when the young generation is collected. */
const YOUNG_GENERATION_MB = 64;

/** Rejects when a thread dies. */
export async function runCampaign({ from, to, jobs, twice, onReport, ...options }: CampaignOptions): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    try {
      while (next <= to) {
        const request: SeedRequest = { seed: next, twice: next < from + twice, ...options };
        next += 1;
        onReport(await ask(worker, request));
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, to - from + 1) }, work));
}

function ask(worker: Worker, request: SeedRequest): Promise<SeedReport> {
  return new Promise((resolve, reject) => {
    const died = (code: number): void =>
      reject(new Error(`the thread that ran seed ${request.seed} ended with ${code}`));
    worker.once('message', (report: SeedReport) => {
      worker.off('error', reject).off('exit', died);
      resolve(report);
    });
    worker.once('error', reject).once('exit', died);
    worker.postMessage(request);
  });
}
