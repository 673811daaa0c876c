/** A write-ahead log on a volatile disk, with segments so small that tests switch them often. */

import { join } from 'node:path';
import { silentLogger, type Disk } from '@holdfast/runtime';
import { serverId } from '../../../src/core/index.ts';
import type { LogStore } from '../../../src/log-store/log-store.ts';
import { openWriteAheadLog, type WriteAheadLogOptions } from '../../../src/log-store/write-ahead-log.ts';
import type { VolatileDisk } from './volatile-disk.ts';

export const LOG_DIRECTORY = '/data/group-0';
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
  disk: VolatileDisk,
  options: Partial<WriteAheadLogOptions> = {},
  alter: (disk: Disk) => Disk = (same) => same,
): Promise<LogStore> {
  return openWriteAheadLog({ ...LOG_OPTIONS, ...options }, { disk: alter(disk.mounted), logger: silentLogger });
}

/** Paths of the segments, in order. */
export async function segmentPaths({ mounted: disk }: VolatileDisk): Promise<string[]> {
  const names = await disk.list(LOG_DIRECTORY);
  return names.filter((name) => name.endsWith('.wal')).map((name) => join(LOG_DIRECTORY, name));
}

export function flipBit(disk: VolatileDisk, path: string, offset: number): void {
  const bytes = disk.bytes(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ 0x10;
}
