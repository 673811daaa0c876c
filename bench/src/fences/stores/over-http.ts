/** `fenced-kvd` beside LMDB behind a server of the same libraries, both as processes. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import type { Pair, PairSource } from '../pair.ts';
import { fencedWrites, plainWrites } from './http-writes.ts';
import { startPlainLmdb, startSingleStore } from './store-process.ts';

export const overHttp: PairSource = {
  settings:
    'plain: hono and lmdb, no buckets, limits, checksums or revisions; bare sockets as clients; nothing is asked',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  const plain = await startPlainLmdb(directory);
  const fenced = await startSingleStore(directory);
  const without = await plainWrites(plain.url, clients);
  const through = await fencedWrites(fenced.url, clients);
  return {
    without: without.write,
    through: through.write,
    pids: () => [plain.process.pid, fenced.process.pid],
    async close() {
      without.close();
      through.close();
      await Promise.all([plain.process.stop(), fenced.process.stop()]);
      for (const name of ['plain', 'single']) rmSync(join(directory, name), { recursive: true, force: true });
    },
  };
}
