/**
 * The data directory of one fenced-kvd: locked for this process, closed to other users, opened, and let go of in that order's
 * reverse.
 */

import { DiskError } from '@holdfast/runtime';
import type { DirectoryLock, Disk, Logger } from '@holdfast/runtime';

import type { EngineOptions, Snapshot, SnapshotEngine } from '../engines/engine.ts';
import { EngineError } from '../engines/engine-error.ts';
import { FencedStore } from '../fenced-store.ts';
import type { StoreOptions } from '../fenced-store.ts';
import { LMDB_FILE_NAME, openLmdbEngine } from '../engines/lmdb-engine.ts';
import { replicaDirectory } from '../replication/durable/index.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';

export interface DataDirectory {
  readonly store: FencedStore;
  /** Of everything that is durable now. Throws {@link EngineError}. */
  snapshot(): Snapshot;
  /** Rejects with {@link ExitError}. */
  close(): Promise<void>;
}

/** What commands that go below the store work on. */
export interface OpenedEngine<T> {
  readonly engine: SnapshotEngine;
  /** What `prepare` resolved with. */
  readonly prepared: T;
  /** Rejects with {@link ExitError}. */
  close(): Promise<void>;
}

type DirectoryOptions = EngineOptions & { readonly disk: Disk; readonly logger: Logger };

/** Rejects with {@link ExitError}. */
export async function openDataDirectory(
  path: string,
  options: DirectoryOptions & StoreOptions,
): Promise<DataDirectory> {
  const opened = await openEngine(path, options, async (engine) => {
    assertNoReplica(path, engine);
    return await FencedStore.open(engine, options);
  });
  return {
    store: opened.prepared,
    snapshot: () => opened.engine.snapshot(),
    close: async () => await opened.close(),
  };
}

/** The same, of which `prepare` makes something, or finds that it cannot. Rejects with {@link ExitError}, or what `prepare` rejects with. */
export async function openEngine<T>(
  path: string,
  options: DirectoryOptions,
  prepare: (engine: SnapshotEngine) => Promise<T>,
): Promise<OpenedEngine<T>> {
  const { disk } = options;
  let lock: DirectoryLock | undefined;
  let engine: SnapshotEngine | undefined;
  try {
    await disk.makeDirectory(path);
    lock = await disk.lockDirectory(path);
    await restrictAccess(path, options);
    engine = await openLmdbEngine(path, options);
    const prepared = await prepare(engine);
    const opened = engine;
    const held = lock;
    return {
      engine,
      prepared,
      close: () => closeAll(path, [() => opened.close(), () => held.release()]),
    };
  } catch (error) {
    // What fails now, fails for the same reason.
    await closeAll(path, [async () => engine?.close(), async () => lock?.release()]).catch(() => {});
    throw toExitError(path, error);
  }
}

/** What is written to the buckets of a replica beside its log, no other replica has. @throws ExitError */
export function assertNoReplica(path: string, engine: SnapshotEngine): void {
  const { id } = replicaDirectory(engine);
  if (id === undefined) return;
  throw new ExitError(
    EXIT_CODE.usage,
    `data directory ${path} is that of replica ${id} of a group, and changes only with the group; start it with --replica-of, ` +
      'or choose another --data',
  );
}

/** Each of them, whatever becomes of those before. Rejects with {@link ExitError}, for the first that failed. */
async function closeAll(path: string, closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw toExitError(path, failures[0]);
}

/** Anything but an empty directory and a data directory was named by mistake, and stays as it is; what is made in it is closed to others. */
async function restrictAccess(
  path: string,
  { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
): Promise<void> {
  const names = await disk.list(path);
  if (names.length > 0 && !names.includes(LMDB_FILE_NAME)) return;
  const { restricted, open } = await disk.restrictAccess(path);
  if (restricted.length > 0) {
    const fields = { directory: path, count: restricted.length, first: restricted[0] };
    logger.warn(fields, 'other users could get at the data directory, and cannot any more');
  }
  if (open.length > 0) {
    const fields = { directory: path, count: open.length, first: open[0] };
    logger.warn(fields, 'other users can get at files of the data directory, which this process may not change');
  }
}

export function toExitError(path: string, error: unknown): unknown {
  if (error instanceof DiskError) {
    return error.code === 'LOCKED'
      ? new ExitError(
          EXIT_CODE.dataDirectoryInUse,
          `data directory ${path} is in use by another process; stop that one or choose another --data`,
          { cause: error },
        )
      : new ExitError(EXIT_CODE.diskError, `data directory ${path}: ${error.message}`, { cause: error });
  }
  if (error instanceof EngineError) {
    const code = error.code === 'DAMAGED_DATA' ? EXIT_CODE.damagedData : EXIT_CODE.diskError;
    return new ExitError(code, error.message, { cause: error });
  }
  return error;
}
