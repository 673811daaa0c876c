/** A backup under its name: whole and durable, or not there. What a crash has left of one that was begun has another name. */

import { basename, dirname } from 'node:path';

import type { Disk, DiskFile } from '@holdfast/runtime';

import type { Readable } from '../engines/engine.ts';
import { BackupWriter, readBackup } from './backup-file.ts';
import { takeBackup } from './take-backup.ts';
import type { BackupCounts } from './take-backup.ts';

/** What it has behind its name while it is not whole. */
const PARTIAL = '.partial';

/** Of a state that does not change meanwhile. Takes the place of a file of that name. Rejects with {@link EngineError} and {@link DiskError}. */
export async function writeBackup(path: string, disk: Disk, state: Readable): Promise<BackupCounts> {
  return await writeWhole(path, disk, async (file) => {
    const writer = new BackupWriter(file);
    const counts = await takeBackup(state, async (record) => await writer.add(record));
    await writer.end();
    return counts;
  });
}

/** The same, of bytes that a server sends. Rejects with {@link BackupError} where they are no whole backup, and with {@link DiskError}. */
export async function receiveBackup(path: string, disk: Disk, bytes: AsyncIterable<Uint8Array>): Promise<BackupCounts> {
  return await writeWhole(path, disk, async (file) => {
    let position = 0;
    for await (const chunk of bytes) {
      await file.write(position, chunk);
      position += chunk.length;
    }
    await file.sync();
    let buckets = 0;
    let keys = 0;
    for await (const { type } of readBackup(file)) {
      if (type === 'bucket') buckets += 1;
      if (type === 'key') keys += 1;
    }
    return { buckets, keys };
  });
}

async function writeWhole(
  path: string,
  disk: Disk,
  fill: (file: DiskFile) => Promise<BackupCounts>,
): Promise<BackupCounts> {
  const folder = dirname(path);
  const partial = `${path}${PARTIAL}`;
  if ((await disk.list(folder)).includes(basename(partial))) await disk.remove(partial);
  const file = await disk.open(partial, 'create');
  let counts: BackupCounts;
  try {
    counts = await fill(file);
  } catch (error) {
    await file.close();
    // It may be large, and the disk full. What cannot be removed either is in nobody's way.
    await disk.remove(partial).catch(() => {});
    throw error;
  }
  await file.close();
  await disk.rename(partial, path);
  await disk.syncDirectory(folder);
  return counts;
}
