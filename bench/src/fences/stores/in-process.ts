/** The store without its HTTP interface beside puts of LMDB in the same process: what tokens, revisions and sums cost. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { FencedStore, openLmdbEngine } from '@holdfast/fenced-kv';
import { nodeDisk } from '@holdfast/runtime/node';

import { rounds, valueOf, type Pair, type PairSource } from '../pair.ts';
import { keyOf } from './keys.ts';
import { openPlainLmdb } from './lmdb.ts';

const TOKEN = 5;

export const inProcess: PairSource = {
  settings:
    'lmdb with a sync of each group, both in the process of the clients; one bucket, 1,000 keys for each client',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  const folders = ['plain', 'fenced'].map((name) => join(directory, name));
  const [plainFolder = '', fencedFolder = ''] = folders;
  const plain = openPlainLmdb(plainFolder);
  const disk = nodeDisk();
  await disk.makeDirectory(fencedFolder);
  const engine = await openLmdbEngine(fencedFolder, { disk });
  const store = await FencedStore.open(engine);
  const next = rounds(clients);
  return {
    async without(client) {
      const round = next(client);
      await plain.put(Buffer.from(keyOf(client, round)), valueOf(round));
    },
    async through(client) {
      const round = next(client);
      const write = { key: keyOf(client, round), value: valueOf(round) };
      await store.write('jobs', [write], { token: TOKEN, floor: TOKEN });
    },
    pids: () => [],
    async close() {
      await engine.close();
      await plain.close();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}
