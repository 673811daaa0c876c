/**
 * An operator's commands on a data directory: writes all of it to one file, from the disk or by the server that has it open, and writes such
 * a file into the directory of a stopped server. Not on the port of the clients: whoever reaches it could read every bucket, or put everybody
 * back in time.
 */

import { basename, dirname } from 'node:path';

import { DiskError } from '@holdfast/runtime';
import type { Disk, DiskFile, Logger } from '@holdfast/runtime';

import { BackupError, readBackup } from '../backup/backup-file.ts';
import { restoreBackup } from '../backup/restore.ts';
import type { RestoreCounts } from '../backup/restore.ts';
import type { BackupCounts } from '../backup/take-backup.ts';
import { receiveBackup, writeBackup } from '../backup/write-backup.ts';
import type { Engine, Readable } from '../engines/engine.ts';
import { EngineError } from '../engines/engine-error.ts';
import { LMDB_FILE_NAME } from '../engines/lmdb-engine.ts';
import { FencedStore } from '../fenced-store.ts';
import { assertFormat, FORMAT_KEY } from '../keyspace.ts';
import { offlineBuckets, replicaDirectory } from '../replication/durable/index.ts';
import { assertNoReplica, openEngine, toExitError } from './data-directory.ts';
import type { OpenedEngine } from './data-directory.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';
import { assertHasData, atServer, exitErrorOf, isInUse } from './on-bucket.ts';

export interface BackupOptions {
  readonly data: string;
  /** The file, which must not be there yet. */
  readonly to: string;
}

export interface RestoreOptions {
  readonly data: string;
  /** A file that {@link backup} has written. */
  readonly from: string;
}

export interface BackupDependencies {
  readonly disk: Disk;
  readonly logger: Logger;
}

/** Rejects with {@link ExitError}; the file is there when it is whole and durable. */
export async function backup(options: BackupOptions, dependencies: BackupDependencies): Promise<BackupCounts> {
  const { data, to } = options;
  const { disk } = dependencies;
  await assertHasData(data, disk);
  if (!(await disk.list(data)).includes(LMDB_FILE_NAME)) {
    throw new ExitError(EXIT_CODE.usage, `there is no data of fenced-kvd in ${data}; correct --data`);
  }
  await assertAbsent(to, disk);
  let opened: OpenedEngine<Readable>;
  try {
    opened = await openEngine(data, dependencies, async (engine) => await bucketsOf(engine));
  } catch (error) {
    if (!isInUse(error)) throw error;
    return await atServer(
      data,
      error,
      async (server) => await ofFile(to, async () => await receiveBackup(to, disk, server.backup())),
    );
  }
  try {
    return await ofFile(to, async () => await writeBackup(to, disk, opened.prepared));
  } catch (error) {
    throw error instanceof EngineError ? toExitError(data, error) : error;
  } finally {
    await opened.close();
  }
}

/** Rejects with {@link ExitError}. A file that is not whole is found before anything is changed. */
export async function restore(options: RestoreOptions, dependencies: BackupDependencies): Promise<RestoreCounts> {
  const { data, from } = options;
  const { disk } = dependencies;
  const file = await ofFile(from, async () => await openExisting(from, disk));
  try {
    await ofFile(from, async () => {
      for await (const record of readBackup(file)) void record;
    });
    const opened = await openEngine(data, dependencies, async (engine) => assertNoReplica(data, engine));
    try {
      return await ofFile(from, async () => await restoreBackup(opened.engine, readBackup(file)));
    } catch (error) {
      throw error instanceof EngineError ? toExitError(data, error) : exitErrorOf(error);
    } finally {
      await opened.close();
    }
  } finally {
    await file.close();
  }
}

/** Of a replica: what it has of the group's data, with nothing of its own. It is opened, not changed. */
async function bucketsOf(engine: Engine): Promise<Readable> {
  if (replicaDirectory(engine).id === undefined) {
    await FencedStore.open(engine);
    return engine;
  }
  try {
    const buckets = await offlineBuckets(engine);
    buckets.read((reader) => assertFormat(reader.get(FORMAT_KEY)));
    return buckets;
  } catch (error) {
    throw exitErrorOf(error);
  }
}

async function assertAbsent(path: string, disk: Disk): Promise<void> {
  const folder = dirname(path);
  const names = await ofFile(path, async () => await disk.list(folder)).catch((error: unknown) => {
    if (!(error instanceof ExitError && error.cause instanceof DiskError && error.cause.code === 'NOT_FOUND'))
      throw error;
    throw new ExitError(EXIT_CODE.usage, `there is no directory ${folder} for the backup; make it, or correct --to`, {
      cause: error,
    });
  });
  if (!names.includes(basename(path))) return;
  throw new ExitError(EXIT_CODE.usage, `${path} is there already, and stays as it is; choose another file with --to`);
}

async function openExisting(path: string, disk: Disk): Promise<DiskFile> {
  try {
    return await disk.open(path, 'existing');
  } catch (error) {
    if (!(error instanceof DiskError) || error.code !== 'NOT_FOUND') throw error;
    throw new ExitError(EXIT_CODE.usage, `there is no file ${path}; correct --from`, { cause: error });
  }
}

/** Errors of the file of the backup, as a command line says them. */
async function ofFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BackupError) throw new ExitError(EXIT_CODE.damagedData, error.message, { cause: error });
    if (!(error instanceof DiskError)) throw error;
    throw new ExitError(EXIT_CODE.diskError, `backup ${path}: ${error.message}`, { cause: error });
  }
}
