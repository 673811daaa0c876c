/** Writes to the primary of three replicas beside those to a single store. All of them are on one machine, and share its processors and its disk. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import type { Pair, PairSource } from '../pair.ts';
import { fencedWrites } from './http-writes.ts';
import { ReplicaGroup } from './replica-group.ts';
import { startSingleStore } from './store-process.ts';

/** The default ones. */
const SETTINGS = { sessionTimeoutMs: 4_000, removalMs: 2_000 };

export const replicas: PairSource = {
  settings:
    'fenced-kvd with its defaults, three lockd beside the replicas, all on this machine; bare sockets as clients',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  const single = await startSingleStore(directory);
  let group: ReplicaGroup;
  try {
    group = await ReplicaGroup.start(directory, SETTINGS);
  } catch (error) {
    await single.process.stop();
    throw error;
  }
  const { url } = await group.primary();
  const without = await fencedWrites(single.url, clients);
  const through = await fencedWrites(url, clients);
  return {
    without: without.write,
    through: through.write,
    pids: () => [single.process.pid, ...group.pids()],
    async close() {
      without.close();
      through.close();
      await Promise.all([single.process.stop(), group.stop()]);
      rmSync(join(directory, 'single'), { recursive: true, force: true });
    },
  };
}
