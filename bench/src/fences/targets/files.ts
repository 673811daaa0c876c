/** A file of its own for each client, as durable and as whole as a careful program writes one: synced, renamed, and its directory synced. */

import { mkdirSync, rmSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';

import { fence } from '@holdfast/fence-files';

import { holders, rounds, valueOf, type Pair, type PairSource } from '../pair.ts';
import { Trips } from '../trips.ts';
import { replaceDurably } from './replace-durably.ts';

export const files: PairSource = {
  settings: 'a file and a scope for each client; a round trip is a wait for syncs of the disk',
  open,
};

async function open(directory: string, clients: number): Promise<Pair> {
  const [plain, fenced] = [join(directory, 'plain'), join(directory, 'fenced')];
  for (const folder of [plain, fenced]) mkdirSync(folder);
  for (let client = 0; client < clients; client += 1) mkdirSync(join(plain, `${client}`));
  const trips = new Trips();
  const stopCounting = await countSyncs(directory, trips);
  const next = rounds(clients);
  const holderOf = holders(clients);
  return {
    trips,
    without: (client) => replaceDurably(join(plain, `${client}`), 'state', valueOf(next(client))),
    through: (client) =>
      fence(fenced, `jobs-${client}`, holderOf(client), (tx) => tx.write('state', valueOf(next(client)))),
    pids: () => [],
    async close() {
      stopCounting();
      for (const folder of [plain, fenced]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Of all files of this process. Returns what ends it. */
async function countSyncs(directory: string, trips: Trips): Promise<() => void> {
  const handle = await openFile(directory, 'r');
  const prototype = Object.getPrototypeOf(handle) as { sync: (this: unknown) => Promise<void> };
  await handle.close();
  const { sync } = prototype;
  prototype.sync = async function counted(this: unknown): Promise<void> {
    await trips.during(async () => await sync.call(this));
  };
  return () => {
    prototype.sync = sync;
  };
}
