/** Makes data directories whose log holds what a test says, with the log that the servers themselves write. */

import { CommandType, encodeCommand, type Command } from '@holdfast/protocol';
import {
  EntryType,
  NO_SERVER,
  logIndex,
  openDataDirectory,
  openWriteAheadLog,
  serverId,
  term,
  type Entry,
} from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { encodeEntry, stampEntry } from '@holdfast/state';
import { CLUSTER_ID, dataOf, type Place } from './places.ts';

const TERM = term(1);
const STAMP = 1_700_000_000_000;

/** A log's entries from the first on; undefined is a no-op. */
export type LogContent = readonly (Uint8Array | undefined)[];

export async function writeLog(
  id: number,
  all: readonly Place[],
  directory: string,
  content: LogContent,
): Promise<void> {
  const { disk, random } = nodeRuntime({ logger: silentLogger });
  const members = all.map(({ peer }, n) => ({ id: serverId(n + 1), peerAddress: `127.0.0.1:${peer}` }));
  const identity = { clusterId: CLUSTER_ID, serverId: serverId(id) };
  const world = { disk, random, logger: silentLogger };
  const data = await openDataDirectory({ ...identity, path: dataOf(id, directory), members }, world);
  const { incarnation, logDirectory } = data;
  const log = await openWriteAheadLog({ ...identity, incarnation, directory: logDirectory }, world);
  const entries = content.map((bytes, n): Entry => ({
    index: logIndex(n + 1),
    term: TERM,
    type: bytes === undefined ? EntryType.noop : EntryType.command,
    data: bytes ?? new Uint8Array(),
  }));
  await log.write({ hardState: { term: TERM, votedFor: NO_SERVER }, entries });
  await log.close();
  await data.release();
}

export interface EntrySource {
  readonly session: number;
  readonly number: number;
}

/** As the leader puts it into the log. */
export function entryOf(command: Command, { session, number }: EntrySource): Uint8Array {
  const header = { command: CommandType[command.type], session, generation: 1, number, ackedUpTo: number - 1 };
  const entry = encodeEntry(header, encodeCommand(command));
  stampEntry(entry, STAMP, 0);
  return entry;
}
