/** A write-ahead log on a simulated machine, with segments so small that tests switch them often. */

import { join } from 'node:path';
import { silentLogger, type Disk } from '@holdfast/runtime';
import { SECTOR_BYTES } from '@holdfast/runtime/sim';
import { serverId } from '../../../src/core/index.ts';
import type { LogStore, WriteBatch } from '../../../src/log-store/contract/log-store.ts';
import { openWriteAheadLog, type WriteAheadLogOptions } from '../../../src/log-store/wal/write-ahead-log.ts';
import type { Machine } from './machine.ts';

const LOG_DIRECTORY = '/data/group-0';
export const SEGMENT_BYTES = 4 * 1024;

export const LOG_OPTIONS: WriteAheadLogOptions = {
  directory: LOG_DIRECTORY,
  clusterId: 'test',
  serverId: serverId(1),
  incarnation: '00112233445566778899aabbccddeeff',
  segmentBytes: SEGMENT_BYTES,
};

/** `alter` stands between the log and the disk. */
export function openLog(
  machine: Machine,
  options: Partial<WriteAheadLogOptions> = {},
  alter: (disk: Disk) => Disk = (same) => same,
): Promise<LogStore> {
  return openWriteAheadLog({ ...LOG_OPTIONS, ...options }, { disk: alter(machine.disk), logger: silentLogger });
}

/** Paths of the segments, in order. */
export async function segmentPaths({ disk }: Machine): Promise<string[]> {
  const names = await disk.list(LOG_DIRECTORY);
  return names.filter((name) => name.endsWith('.wal')).map((name) => join(LOG_DIRECTORY, name));
}

/** Where what was written into a segment ends. */
export function usedBytes(machine: Machine, path: string): number {
  return machine.bytes(path).findLastIndex((byte) => byte !== 0) + 1;
}

/** Where the next batch goes in a segment that is used so far. */
export function nextPosition(used: number): number {
  return Math.ceil(used / 8) * 8;
}

/** Writes the batch, and has the power fail in it: all of it but its first sector reaches the disk. */
export async function writeTorn(machine: Machine, store: LogStore, batch: WriteBatch): Promise<void> {
  const path = (await segmentPaths(machine)).at(-1) ?? '';
  const from = nextPosition(usedBytes(machine, path));
  await store.write(batch);
  machine.crash();
  await machine.overwrite(path, from, new Uint8Array(SECTOR_BYTES - (from % SECTOR_BYTES)));
  machine.crash();
}
