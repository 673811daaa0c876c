/** Which buckets there are. */

import type { Readable } from './engines/engine.ts';
import { EngineError } from './engines/engine-error.ts';
import { bucketOfKey, bucketRange } from './keyspace.ts';

/** Buckets that are looked for at once. */
const AT_A_TIME = 1_024;

/** In the order of their names. @throws EngineError */
export function* bucketNames(engine: Readable): Generator<string> {
  const { from: begin, to } = bucketRange();
  let from = begin;
  for (;;) {
    const page = engine.read((reader) => reader.range({ from, to, limit: AT_A_TIME }));
    for (const { key } of page) yield bucketOfKey(key);
    const last = page.at(-1);
    if (last === undefined || page.length < AT_A_TIME) return;
    from = Uint8Array.from([...last.key, 0]);
  }
}

/** NaN where a record is damaged, which whoever asks for that bucket is told. */
export function countBuckets(engine: Readable): number {
  let count = 0;
  try {
    for (const name of bucketNames(engine)) {
      void name;
      count += 1;
    }
    return count;
  } catch (error) {
    if (error instanceof EngineError && error.code === 'DAMAGED_DATA') return NaN;
    throw error;
  }
}
