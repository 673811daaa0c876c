/**
 * The buckets of a replica that does not run, with everything that its log has: an acknowledged write may be in the log alone. What was
 * not acknowledged may be among it, as an answer that was lost may have been one. Nothing is written.
 */

import type { Engine } from '../../engines/engine.ts';
import { EngineError } from '../../engines/engine-error.ts';
import { invalidArgument } from '../../refusal.ts';
import { Overlay } from './overlay.ts';
import { decodeWrites } from './payload.ts';
import { bucketsOf } from './replica-keys.ts';
import { ReplicaStore } from './replica-store.ts';

/** Rejects with EngineError, and with RefusedError where the replica has nothing, or a part of the buckets only. */
export async function offlineBuckets(engine: Engine): Promise<Engine> {
  const { entries, applied, copy } = (await ReplicaStore.open(engine, () => 'none')).load();
  if (copy.cursor !== undefined) {
    throw invalidArgument(
      'data',
      'this replica was being given a copy when it stopped, and has a part of the buckets only; take those of another one',
    );
  }
  if (applied === 0 && entries.length === 0) {
    throw invalidArgument('data', 'this replica has nothing yet; take the data of one that is in sync');
  }
  const log = new Overlay();
  for (const { index, payload } of entries) {
    if (index > applied && payload !== undefined) log.add(index, decodeWrites(payload));
  }
  return {
    figures: engine.figures,
    read: (body) => engine.read((reader) => body(log.over(bucketsOf(reader)))),
    commit: async () => await Promise.reject(new EngineError('CLOSED', 'the buckets of a replica are only read here')),
    close: async () => await engine.close(),
  };
}
