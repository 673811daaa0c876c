/**
 * `lockd recover`: a new cluster that begins with the state of one server of a cluster whose majority is lost. Its index begins so far behind
 * the old one's that no token is given out again, and every session of the old one has ended. The old directory stays as it is, but for a
 * note of that index.
 */

import { join } from 'node:path';
import {
  EntryType,
  bytesOf,
  createSeededDirectory,
  decodeConfiguration,
  encodeConfiguration,
  initialConfiguration,
  logDirectoryOf,
  logIndex,
  nextIndex,
  nextTerm,
  openWriteAheadLog,
  readRecoveredIndex,
  serverId,
  takeDataDirectory,
  writeRecoveredIndex,
  type DurableState,
  type Identity,
  type InitialMember,
  type LogIndex,
  type LogStore,
  type TakenDirectory,
} from '@holdfast/raft';
import { DiskError, type Disk, type Logger, type Random } from '@holdfast/runtime';
import type { StateCounts, StateMachine } from '@holdfast/state';
import { createKeyedState } from '../machine/keyed-state.ts';
import { inspectDataDirectory } from './inspect.ts';
import { MAX_RECOVERY_INDEX, RECOVERY_INDEX_GAP } from '../limits.ts';
import { ACCEPT_LOSS, STOP_BEFORE, type RecoverOptions } from './offline-commands.ts';
import { UsageError } from '../settings/settings.ts';

const READ_BYTES = 1024 * 1024;
const SNAPSHOT_SLICE_BYTES = 128 * 1024;
const NAME_ENDING_BYTES = 4;
/** Of a cluster that was recovered before. */
const NAME_ENDING = /-r[0-9a-f]{8}$/;

export interface RecoverWorld {
  readonly disk: Disk;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Recovery {
  readonly old: Identity;
  /** Where the old log ended; all of it was applied, but for what was given up. */
  readonly lastIndex: LogIndex;
  /** The first entry that was given up, with all behind it. */
  readonly stopBefore: number | undefined;
  /** Whether that log had lost acknowledged entries. */
  readonly incomplete: boolean;
  readonly before: StateCounts;
  readonly after: StateCounts;
  readonly clusterId: string;
  /** The new cluster's log begins behind it. */
  readonly index: LogIndex;
  readonly servers: readonly (InitialMember & { readonly path: string })[];
}

/** @throws UsageError with what may be lost, when that was not accepted; and what opening the directory throws */
export async function recover(options: RecoverOptions, world: RecoverWorld): Promise<Recovery> {
  if (!options.acceptLoss) throw await refusal(options, world);
  await requireEmpty(options.to, world.disk);
  const directory = await takeDataDirectory(options.data, world);
  try {
    const { identity } = directory;
    const clusterId = newClusterId(options, identity, world.random);
    const { stopBefore } = options;
    const { machine, durable } = await readState(options, directory, world);
    const { lastIndex, voteBan, hardState } = durable;
    const members = newMembers(options, identity, durable);
    const index = await beginIndex(options, identity, lastIndex, world.disk);
    const before = machine.counts;
    machine.beginNewLife(index);
    await writeRecoveredIndex(options.data, identity.incarnation, index, world.disk);
    const servers = members.map((member) => ({ ...member, path: join(options.to, `server-${member.id}`) }));
    const configuration = encodeConfiguration(initialConfiguration(members));
    const segments = options.segmentBytes === undefined ? {} : { segmentBytes: options.segmentBytes };
    const position = { index, term: nextTerm(hardState.term), configuration };
    for (const { id, path } of servers) {
      const seed = { position, bytes: () => piecesOf(machine) };
      await createSeededDirectory({ path, clusterId, serverId: id, members, ...segments }, seed, world);
    }
    const incomplete = voteBan !== undefined;
    const old = { old: identity, lastIndex, stopBefore, incomplete, before };
    return { ...old, after: machine.counts, clusterId, index, servers };
  } finally {
    await directory.release();
  }
}

/**
 * All of the log, or what comes before the entry that is given up, whether it was committed or not: nothing here knows, and what was
 * committed with this server's help is in it.
 */
async function readState(
  { data: path, stopBefore = Infinity }: RecoverOptions,
  { identity, features }: TakenDirectory,
  world: RecoverWorld,
): Promise<{ readonly machine: StateMachine; readonly durable: DurableState }> {
  const repair = { founders: identity.members.map((member) => member.id) };
  const store = await openWriteAheadLog({ ...identity, directory: logDirectoryOf(path), features, repair }, world);
  try {
    const { lastIndex, snapshot } = store.durable;
    checkStop(stopBefore, lastIndex, snapshot?.index ?? 0);
    const machine = createKeyedState(world.random);
    await restoreSnapshot(machine, store);
    await applyLog(machine, store, logIndex(Math.min(lastIndex, stopBefore - 1)));
    return { machine, durable: store.durable };
  } finally {
    await store.close();
  }
}

function checkStop(stopBefore: number, lastIndex: LogIndex, snapshotIndex: number): void {
  if (stopBefore <= snapshotIndex) {
    throw new UsageError(
      `${STOP_BEFORE} ${stopBefore}: the snapshot of index ${snapshotIndex} in this directory holds that entry already, and cannot be had without it: take a server whose snapshot is older (lockd inspect prints)`,
    );
  }
  if (stopBefore === Infinity || stopBefore <= lastIndex) return;
  throw new UsageError(
    `${STOP_BEFORE} ${stopBefore}: the log of this directory ends at index ${lastIndex}, before that entry, so there is nothing to give up: take a server whose log has it, or leave ${STOP_BEFORE} out`,
  );
}

async function restoreSnapshot(machine: StateMachine, store: LogStore): Promise<void> {
  const snapshot = await store.openSnapshot();
  if (snapshot === undefined) return;
  try {
    const restoring = machine.beginRestore(snapshot.info.index);
    for await (const bytes of bytesOf(snapshot)) restoring.push(bytes);
    restoring.finish();
  } finally {
    await snapshot.close();
  }
}

async function applyLog(machine: StateMachine, store: LogStore, lastIndex: LogIndex): Promise<void> {
  while (machine.appliedIndex < lastIndex) {
    for (const { index, type, data } of await store.read(
      nextIndex(logIndex(machine.appliedIndex)),
      lastIndex,
      READ_BYTES,
    )) {
      switch (type) {
        case EntryType.noop:
        case EntryType.configuration:
          machine.applyNoop(index);
          break;
        case EntryType.command:
          applyCommand(machine, index, data);
          break;
      }
    }
  }
}

function applyCommand(machine: StateMachine, index: LogIndex, data: Uint8Array): void {
  try {
    machine.apply(index, data);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = `the entry at index ${index} cannot be applied (${reason}), and nothing was changed`;
    const advice = `to give up that entry and everything behind it, add ${STOP_BEFORE} ${index}`;
    throw new Error(`${problem}: ${advice}`, { cause: error });
  }
}

function* piecesOf(machine: StateMachine): Generator<Uint8Array> {
  const snapshot = machine.beginSnapshot();
  try {
    for (;;) {
      const piece = snapshot.next(SNAPSHOT_SLICE_BYTES);
      if (piece === undefined) return;
      yield piece;
    }
  } finally {
    // Without effect once everything was handed out.
    snapshot.cancel();
  }
}

async function beginIndex(
  { data, above }: RecoverOptions,
  { incarnation }: Identity,
  lastIndex: LogIndex,
  disk: Disk,
): Promise<LogIndex> {
  const recovered = await readRecoveredIndex(data, incarnation, disk);
  const index = Math.max(Math.max(lastIndex, recovered) + RECOVERY_INDEX_GAP, above);
  if (index > MAX_RECOVERY_INDEX) {
    throw new UsageError(
      `the new cluster would begin at index ${index}, and none may begin behind ${MAX_RECOVERY_INDEX}: too few tokens would be left`,
    );
  }
  return logIndex(index);
}

function newClusterId({ clusterId }: RecoverOptions, old: Identity, random: Random): string {
  if (clusterId === old.clusterId) {
    throw new UsageError(
      `--cluster-id ${clusterId} is the old cluster's: its servers and clients must not meet the new one's`,
    );
  }
  if (clusterId !== undefined) return clusterId;
  return `${old.clusterId.replace(NAME_ENDING, '')}-r${Buffer.from(random.bytes(NAME_ENDING_BYTES)).toString('hex')}`;
}

function newMembers(
  { members, stopBefore = Infinity }: RecoverOptions,
  { serverId: id, members: initial }: Identity,
  { configurations, snapshot }: DurableState,
): readonly InitialMember[] {
  if (members !== undefined) return members.map((member) => ({ ...member, id: serverId(member.id) }));
  const latest = configurations.findLast(({ index }) => index < stopBefore)?.data ?? snapshot?.configuration;
  const known = latest === undefined ? initial : decodeConfiguration(latest).members;
  const own = [...known, ...initial].find((member) => member.id === id);
  if (own === undefined) {
    throw new UsageError(`the directory does not say where peers reach server ${id}: add --cluster ${id}=host:port`);
  }
  return [{ id, peerAddress: own.peerAddress }];
}

async function requireEmpty(path: string, disk: Disk): Promise<void> {
  let names: readonly string[];
  try {
    names = await disk.list(path);
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return;
    throw error;
  }
  if (names.length > 0)
    throw new UsageError(`--to ${path} is not empty: give an empty directory, or one that does not exist`);
}

async function refusal({ data, stopBefore }: RecoverOptions, { disk }: RecoverWorld): Promise<UsageError> {
  const { identity, lastIndex, lastTerm, voteBan } = await inspectDataDirectory(data, disk);
  const { serverId: server, clusterId } = identity;
  return new UsageError(
    [
      `this would begin a new cluster with what server ${server} of cluster "${clusterId}" has: a log up to index ${lastIndex} of term ${lastTerm}${voteBan === undefined ? '' : ', of which acknowledged entries were lost'}.`,
      ...(stopBefore === undefined
        ? []
        : [givenUpText(stopBefore, lastIndex), 'Do so only where no version of the program can apply that entry.']),
      'Acknowledged commands that this server does not have are lost; some that were never acknowledged may take effect.',
      'Every session ends, and so every lock is given up. Tokens go on above all that the old cluster can have given out.',
      'Start a majority of the old servers instead, if there is any way; and compare `lockd inspect` of all directories that are left, to take',
      'the one with the highest last term, and among those the highest last index.',
      `To begin the new cluster, add ${ACCEPT_LOSS}; nothing was changed`,
    ].join('\n'),
  );
}

function givenUpText(stopBefore: number, lastIndex: LogIndex): string {
  const entries = Math.max(0, lastIndex - stopBefore + 1);
  return `Of that, the entry at index ${stopBefore} and everything behind it is given up, acknowledged or not: ${entries} entries.`;
}

export function formatRecovery({ old, lastIndex, stopBefore, incomplete, before, after, ...made }: Recovery): string {
  const { clusterId, index, servers } = made;
  const ends = `its log up to index ${lastIndex}${incomplete ? ', of which acknowledged entries were lost' : ''}`;
  const given = stopBefore === undefined ? [] : [givenUpText(stopBefore, lastIndex)];
  const lines = [
    `made cluster "${clusterId}" out of server ${old.serverId} of cluster "${old.clusterId}": ${ends}`,
    ...given,
    `ended ${before.sessions} sessions, with ${before.holds} holds and ${before.waits} waits; ${after.nodes} nodes are left`,
    `it begins behind index ${index}: every token will be higher`,
    ...servers.map(({ id, peerAddress, path }) => `server ${id} at ${peerAddress}: ${path}`),
    `start ${servers.length === 1 ? 'it' : 'each'} on its directory with --cluster-id ${clusterId}, tell clients the new name, and never start the old cluster again`,
  ];
  return `${lines.join('\n')}\n`;
}
