/** What a directory says of the replica in it, before anything else is done with it. */

import type { Engine } from '../../engines/engine.ts';
import { damaged, FORMAT_KEY } from '../../keyspace.ts';
import type { ReplicaId } from '../core/index.ts';
import { decodeReplica, DIRECTORY_KEY, REPLICA_KEY } from './replica-keys.ts';

export interface ReplicaDirectory {
  /** Of the replica that was made here; undefined: none was. */
  readonly id: ReplicaId | undefined;
  /** Some has a format, so keys or buckets: a store was opened here, or the replica has applied something. */
  readonly hasData: boolean;
}

export function replicaDirectory(engine: Engine): ReplicaDirectory {
  return engine.read((reader) => {
    const record = reader.get(REPLICA_KEY);
    return {
      id: record === undefined ? undefined : decodeReplica(record).id,
      hasData: reader.get(FORMAT_KEY) !== undefined,
    };
  });
}

const NAME = /^[0-9a-f]{32}$/;

/** A name for the directory that is drawn once and kept, so that another one under the same id is noticed. Rejects with EngineError. */
export async function directoryName(engine: Engine, draw: () => string): Promise<string> {
  return await engine.commit((transaction) => {
    const stored = transaction.get(DIRECTORY_KEY);
    if (stored === undefined) {
      const name = draw();
      transaction.put(DIRECTORY_KEY, new TextEncoder().encode(name));
      return name;
    }
    const name = new TextDecoder().decode(stored);
    if (NAME.test(name)) return name;
    throw damaged('the name of the directory of the replica cannot be read');
  });
}
