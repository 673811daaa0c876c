/**
 * A server's data directory: taken for this process, made whole or not at all, and never used by another server or cluster. The
 * identity file is the last thing that a creation makes durable, so a directory that has one has a log too.
 */

import { join } from 'node:path';
import { NO_FEATURES } from '@holdfast/protocol';
import { DiskError, type Address, type Disk, type DirectoryLock, type Logger, type Random } from '@holdfast/runtime';
import type { ServerId } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { DataDirectoryError, DataDirectoryInUseError } from '../errors/data-directory-error.ts';
import { IdentityMismatchError } from '../errors/identity-mismatch-error.ts';
import { DiskFeature, RecordedFeatures, type DirectoryFeatures } from '../files/disk-features.ts';
import { decodeIdentity, encodeIdentity, type Identity, type InitialMember } from './identity.ts';
import { requireRoom } from './room.ts';
import { listSegments } from '../segments/segment-list.ts';
import { SEGMENT_SUFFIX } from '../segments/segment-name.ts';
import { createWriteAheadLog, DEFAULT_SEGMENT_BYTES, type WriteAheadLogOptions } from '../wal/write-ahead-log.ts';

export * from '../errors/data-directory-error.ts';
export type { Identity, InitialMember } from './identity.ts';

const IDENTITY_FILE = 'identity.json';
const TEMPORARY_IDENTITY_FILE = 'identity.json.tmp';
const LOG_DIRECTORY = 'group-0';
/** What a directory without an identity may hold: traces of a creation that did not finish, and what file systems make. */
const OWN_NAMES = new Set([TEMPORARY_IDENTITY_FILE, LOG_DIRECTORY, 'lost+found']);
const LOCK_NAME = /^\.?lock/;
const INCARNATION_BYTES = 16;

export interface DataDirectoryOptions {
  readonly path: string;
  readonly clusterId: string;
  readonly serverId: ServerId;
  /** The voters of a new cluster, this server included. Counts only when the directory is new. */
  readonly members: readonly InitialMember[];
  /** A new directory begins with no members: its server waits to be added to a cluster that runs. @default false */
  readonly joins?: boolean;
  /** Of the log. @default 64 MiB */
  readonly segmentBytes?: number;
}

export interface DataDirectoryWorld {
  readonly disk: Disk;
  readonly random: Random;
  readonly logger: Logger;
}

export interface DataDirectory {
  /** 32 hexadecimal digits, new with each new directory. A server that comes back with another one has lost its disk. */
  readonly incarnation: string;
  /** As they were when the directory was made; none when its server joined. */
  readonly members: readonly InitialMember[];
  /** Where the log is; for openWriteAheadLog. */
  readonly logDirectory: string;
  /** What it tells later programs; for openWriteAheadLog. */
  readonly features: DirectoryFeatures;
  /** Lets another process take the directory. */
  release(): Promise<void>;
}

/** @throws DataDirectoryInUseError, DataDirectoryError, IdentityMismatchError, DamagedLogError, DiskError */
export async function openDataDirectory(
  options: DataDirectoryOptions,
  world: DataDirectoryWorld,
): Promise<DataDirectory> {
  const { path, segmentBytes = DEFAULT_SEGMENT_BYTES } = options;
  await requireRoom({ path, logDirectory: logDirectoryOf(path), segmentBytes }, world.disk);
  await world.disk.makeDirectory(path);
  const lock = await takeLock(path, world.disk);
  try {
    const identity = (await readIdentity(path, world)) ?? (await createDirectory(options, world));
    // The name that was found need not be on disk yet: the process that gave it may have been killed at once.
    await world.disk.syncDirectory(path);
    await checkDirectory(identity, options, world);
    await restrictAccess(path, world);
    const { incarnation, members } = identity;
    const features = featuresOf(path, identity, world.disk);
    return { incarnation, members, logDirectory: logDirectoryOf(path), features, release: () => lock.release() };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Writes what a new log is to begin with. */
export type LogFiller = (log: WriteAheadLogOptions) => Promise<void>;

/**
 * A new directory, whose log is filled before any server starts on it. For work while no server is running.
 * @throws DataDirectoryInUseError, DataDirectoryError when it is not empty, DiskError, and what `fill` throws
 */
export async function makeDataDirectory(
  options: DataDirectoryOptions,
  world: DataDirectoryWorld,
  fill: LogFiller,
): Promise<Identity> {
  const { path } = options;
  await world.disk.makeDirectory(path);
  const lock = await takeLock(path, world.disk);
  try {
    if ((await readIdentity(path, world)) !== undefined) {
      const message = `${path} is a data directory already: give an empty directory`;
      throw new DataDirectoryError('FOREIGN_FILES', path, message);
    }
    const identity = await createDirectory(options, world, fill);
    await restrictAccess(path, world);
    return identity;
  } finally {
    await lock.release();
  }
}

export interface TakenDirectory {
  readonly identity: Identity;
  /** What it tells later programs; for openWriteAheadLog. */
  readonly features: DirectoryFeatures;
  /** Lets another process take the directory. */
  release(): Promise<void>;
}

/**
 * An existing directory, for work on it while its server is not running. Makes none.
 * @throws DataDirectoryInUseError, DataDirectoryError, DamagedLogError, DiskError
 */
export async function takeDataDirectory(path: string, { disk }: { readonly disk: Disk }): Promise<TakenDirectory> {
  const noDirectory = `${path} has no ${IDENTITY_FILE}, so it is not a data directory`;
  if ((await findIdentity(path, { disk })) === undefined)
    throw new DataDirectoryError('NO_IDENTITY', path, noDirectory);
  const lock = await takeLock(path, disk);
  try {
    const identity = await readIdentity(path, { disk });
    if (identity === undefined) throw new DataDirectoryError('NO_IDENTITY', path, noDirectory);
    await requireSegments(path, disk);
    return { identity, features: featuresOf(path, identity, disk), release: () => lock.release() };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

export function logDirectoryOf(dataDirectory: string): string {
  return join(dataDirectory, LOG_DIRECTORY);
}

/**
 * Undefined when the directory has none. Takes no lock.
 * @throws DataDirectoryError, DiskError
 */
export async function readIdentity(path: string, { disk }: { readonly disk: Disk }): Promise<Identity | undefined> {
  const file = join(path, IDENTITY_FILE);
  try {
    return decodeIdentity(await disk.readFile(file), file);
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/**
 * For looking only: what a start would find, or what it would refuse with. Undefined when it would make a new directory. Takes no lock.
 * @throws DataDirectoryError, DamagedLogError, DiskError
 */
export async function findIdentity(path: string, world: { readonly disk: Disk }): Promise<Identity | undefined> {
  const identity = await readIdentity(path, world);
  if (identity !== undefined) return identity;
  if (await hasSegments(logDirectoryOf(path), world.disk)) await refuseLogWithRecords(path, world.disk);
  return undefined;
}

/** The log holds what clients wrote. Only of what is known to be a data directory: any other that was named by mistake stays as it is. */
async function restrictAccess(
  path: string,
  { disk, logger }: Pick<DataDirectoryWorld, 'disk' | 'logger'>,
): Promise<void> {
  for (const directory of [path, logDirectoryOf(path)]) {
    try {
      const { restricted, open } = await disk.restrictAccess(directory);
      if (restricted.length > 0) {
        const fields = { directory, count: restricted.length, first: restricted[0] };
        logger.warn(fields, 'other users could get at the data directory, and cannot any more');
      }
      if (open.length > 0) {
        const fields = { directory, count: open.length, first: open[0] };
        logger.warn(fields, 'other users can get at files of the data directory, which this process may not change');
      }
    } catch (error) {
      if (!(error instanceof DiskError && error.code === 'NOT_FOUND')) throw error;
    }
  }
}

async function takeLock(path: string, disk: Disk): Promise<DirectoryLock> {
  try {
    return await disk.lockDirectory(path);
  } catch (error) {
    if (error instanceof DiskError && error.code === 'LOCKED')
      throw new DataDirectoryInUseError(path, { cause: error });
    throw error;
  }
}

async function checkDirectory(
  identity: Identity,
  { path, clusterId, serverId, members }: DataDirectoryOptions,
  { disk, logger }: DataDirectoryWorld,
): Promise<void> {
  if (identity.clusterId !== clusterId || identity.serverId !== serverId) {
    throw new IdentityMismatchError(path, identity, { clusterId, serverId });
  }
  await requireSegments(path, disk);
  if (members.length > 0 && !sameMembers(members, identity.members)) {
    logger.info(
      { directory: path, given: members, initial: identity.members },
      'the given members differ from those that the directory was made with, which count',
    );
  }
}

async function requireSegments(path: string, disk: Disk): Promise<void> {
  const directory = logDirectoryOf(path);
  if (await hasSegmentFiles(directory, disk)) return;
  throw new DamagedLogError(directory, 0, 'every segment of the log is missing');
}

/** Whatever else may be wrong with them. */
async function hasSegmentFiles(logDirectory: string, disk: Disk): Promise<boolean> {
  try {
    return (await disk.list(logDirectory)).some((name) => name.endsWith(SEGMENT_SUFFIX));
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}

async function hasSegments(logDirectory: string, disk: Disk): Promise<boolean> {
  try {
    return (await listSegments(logDirectory, disk)).length > 0;
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}

async function createDirectory(
  options: DataDirectoryOptions,
  world: DataDirectoryWorld,
  fill?: LogFiller,
): Promise<Identity> {
  const { path, clusterId, serverId, members, joins = false, segmentBytes } = options;
  const { disk, random, logger } = world;
  await removeUnfinished(path, disk);
  if (joins ? members.length > 0 : !members.some((member) => member.id === serverId))
    throw new DataDirectoryError('NO_MEMBERS', path, noMembers(options));
  const directory = logDirectoryOf(path);
  const segments = segmentBytes === undefined ? {} : { segmentBytes };
  try {
    await createWriteAheadLog({ directory, ...segments }, { disk, logger });
  } catch (error) {
    // What there is of it holds nothing yet, and on a full disk it would be in everybody's way.
    if (error instanceof DiskError && error.code === 'NO_SPACE') await disk.removeTree(directory).catch(() => {});
    throw error;
  }
  const unmarked: Identity = {
    // A program that does not know how members change would take it for a cluster without servers.
    required: joins ? DiskFeature.configuration : NO_FEATURES,
    clusterId,
    serverId,
    incarnation: Buffer.from(random.bytes(INCARNATION_BYTES)).toString('hex'),
    members: members.map(({ id, peerAddress }) => ({ id, peerAddress })),
  };
  // Nobody opens the directory before it has its identity, which tells them all at once.
  const features = new RecordedFeatures(unmarked.required, async () => {});
  await fill?.({ ...unmarked, ...segments, directory, features });
  const identity = { ...unmarked, required: features.required };
  await writeDurably(path, encodeIdentity(identity), disk);
  logger.info({ directory: path, clusterId, serverId, joins }, 'made a new data directory');
  return identity;
}

function noMembers({ path, serverId, members, joins = false }: DataDirectoryOptions): string {
  if (joins)
    return `${path} is new, and its server joins: the members come from the cluster's log and must not be given`;
  const given = members.length === 0 ? 'none were given' : `${members.map(({ id }) => id).join(', ')} were given`;
  return `${path} is new, so the servers of the cluster must be given, server ${serverId} among them; ${given}`;
}

/** A creation that a crash cut short starts over; anything else that is there is not ours to touch. */
async function removeUnfinished(path: string, disk: Disk): Promise<void> {
  const names = (await disk.list(path)).filter((name) => !LOCK_NAME.test(name));
  const foreign = names.filter((name) => !OWN_NAMES.has(name));
  if (foreign.length > 0) {
    const some = foreign.slice(0, 5).join(', ');
    throw new DataDirectoryError(
      'FOREIGN_FILES',
      path,
      `${path} has no ${IDENTITY_FILE}, so it is not a data directory, but it is not empty either (${some}): give an empty directory`,
    );
  }
  if (names.includes(TEMPORARY_IDENTITY_FILE)) await disk.remove(join(path, TEMPORARY_IDENTITY_FILE));
  if (!names.includes(LOG_DIRECTORY)) return;
  await refuseLogWithRecords(path, disk);
  await disk.removeTree(logDirectoryOf(path));
}

/** A creation never gets as far as a record without an identity. */
async function refuseLogWithRecords(path: string, disk: Disk): Promise<void> {
  for (const segment of await listSegments(logDirectoryOf(path), disk)) {
    const file = await disk.open(segment.path, 'existing');
    try {
      const start = await file.read(0, 16);
      if (start.every((byte) => byte === 0)) continue;
    } finally {
      await file.close();
    }
    throw new DataDirectoryError(
      'DAMAGED_IDENTITY',
      path,
      `${path} has a log with records but no ${IDENTITY_FILE}: restore that file, or replace the server by one with a new id and an empty directory`,
    );
  }
}

function featuresOf(path: string, identity: Identity, disk: Disk): DirectoryFeatures {
  return new RecordedFeatures(identity.required, (required) =>
    writeDurably(path, encodeIdentity({ ...identity, required }), disk),
  );
}

async function writeDurably(path: string, bytes: Uint8Array, disk: Disk): Promise<void> {
  const temporary = join(path, TEMPORARY_IDENTITY_FILE);
  // An earlier attempt may have left it.
  if ((await disk.list(path)).includes(TEMPORARY_IDENTITY_FILE)) await disk.remove(temporary);
  const file = await disk.open(temporary, 'create');
  try {
    await file.write(0, bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(temporary, join(path, IDENTITY_FILE));
  await disk.syncDirectory(path);
}

function sameMembers(a: readonly InitialMember[], b: readonly InitialMember[]): boolean {
  const addresses = new Map<ServerId, Address>(b.map(({ id, peerAddress }) => [id, peerAddress]));
  return a.length === b.length && a.every(({ id, peerAddress }) => addresses.get(id) === peerAddress);
}
