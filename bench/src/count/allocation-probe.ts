/**
 * Loaded into a server before its own code (`--import`): on SIGUSR2 it writes what the heap holds, before and after a collection.
 * With a young generation that is larger than what a measurement allocates nothing is collected in between, and what came
 * to be between two looks is what was allocated, garbage included.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { PerformanceObserver, constants } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export const PROBE_DIRECTORY_VARIABLE = 'HOLDFAST_BENCH_PROBES';

export interface AllocationLook {
  readonly look: number;
  /** On V8's heap and in array buffers, before this look's collection. */
  readonly bytes: number;
  readonly bytesAfterCollection: number;
  /** That nobody forced, since the start; a measurement during which it grew is worth nothing. */
  readonly collections: number;
}

interface CollectionEntry {
  readonly detail?: { readonly flags?: number };
}

const directory = process.env[PROBE_DIRECTORY_VARIABLE];
if (directory !== undefined) answerLooks(`${directory}/${process.pid}.json`);

function answerLooks(file: string): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let looks = 0;
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as CollectionEntry[]) {
      if (((detail?.flags ?? 0) & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) === 0) collections += 1;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  process.on('SIGUSR2', () => {
    looks += 1;
    const bytes = usedBytes();
    // The second one ends what the first leaves to other threads: array buffers that are about to be freed still count.
    collect();
    collect();
    const result: AllocationLook = { look: looks, bytes, bytesAfterCollection: usedBytes(), collections };
    writeFileSync(`${file}.new`, JSON.stringify(result));
    renameSync(`${file}.new`, file);
  });
}

function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
