/**
 * From the loss of the leader to the next acquire that succeeds, as a running client sees it: one client takes and gives back a
 * lock without pause; the leader is killed (SIGKILL) or stopped (SIGSTOP) under it.
 */

import { connect } from '@holdfast/client';
import type { LocalEnsemble } from '@holdfast/ensemble';

import { withScratchEnsemble } from './scratch-ensemble.ts';

export type Fault = 'kill' | 'stop';

export interface FailOverOptions {
  readonly fault: Fault;
  readonly trials: number;
  report(trial: number, gapMs: number): void;
}

interface Watch {
  /** When the fault struck, and who waits for the first acquire after it. */
  since: number;
  found: ((gapMs: number) => void) | undefined;
  running: boolean;
}

export async function measureFailOver(options: FailOverOptions): Promise<number[]> {
  return await withScratchEnsemble(async (ensemble) => {
    const client = await connect({ servers: ensemble.clientAddresses });
    const watch: Watch = { since: 0, found: undefined, running: true };
    const lock = client.lock('bench/fail-over');
    const loop = (async () => {
      while (watch.running) {
        const begun = performance.now();
        const held = await lock.acquire();
        // Only an acquire that began after the fault counts; one under way may have been granted just before it.
        if (watch.found !== undefined && begun >= watch.since) {
          watch.found(performance.now() - watch.since);
          watch.found = undefined;
        }
        await held.release();
      }
    })();
    const gapsMs: number[] = [];
    for (let trial = 1; trial <= options.trials; trial += 1) {
      const gapMs = await strike(ensemble, options.fault, watch);
      options.report(trial, gapMs);
      gapsMs.push(gapMs);
    }
    watch.running = false;
    await loop;
    await client.close();
    return gapsMs;
  });
}

async function strike(ensemble: LocalEnsemble, fault: Fault, watch: Watch): Promise<number> {
  const leader = await ensemble.waitForLeader();
  const next = new Promise<number>((resolve) => {
    watch.found = resolve;
    watch.since = performance.now();
  });
  if (fault === 'kill') void ensemble.kill(leader);
  else ensemble.pause(leader);
  const gapMs = await next;
  if (fault === 'kill') await ensemble.restart(leader);
  else ensemble.resume(leader);
  await ensemble.waitUntilReady();
  // The next leader shall be one that leads in a steady state, as in a running system.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  return gapMs;
}
