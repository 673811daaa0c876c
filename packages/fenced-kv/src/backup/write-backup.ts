/** A backup under its name: whole and durable, or not there. What a crash has left of one that was begun has another name. */

import { basename, dirname } from 'node:path';

import type { Disk } from '@holdfast/runtime';

import { BackupWriter } from './backup-file.ts';
import { takeBackup } from './take-backup.ts';
import type { BackupCounts } from './take-backup.ts';
import type { Engine } from '../engines/engine.ts';

/** What it has behind its name while it is not whole. */
const PARTIAL = '.partial';

/** Nobody may write to the engine meanwhile. Takes the place of a file of that name. Rejects with {@link EngineError} and {@link DiskError}. */
export async function writeBackup(path: string, disk: Disk, engine: Engine): Promise<BackupCounts> {
  const folder = dirname(path);
  const partial = `${path}${PARTIAL}`;
  if ((await disk.list(folder)).includes(basename(partial))) await disk.remove(partial);
  const file = await disk.open(partial, 'create');
  let counts: BackupCounts;
  try {
    const writer = new BackupWriter(file);
    counts = await takeBackup(engine, async (record) => await writer.add(record));
    await writer.end();
  } finally {
    await file.close();
  }
  await disk.rename(partial, path);
  await disk.syncDirectory(folder);
  return counts;
}
