/**
 * At which index the last new cluster began that was made out of this data directory, in a file of its own. It is durable before
 * anything of that cluster is, so that the next one begins behind all that it may have reached.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Disk } from '@holdfast/runtime';
import { logIndex, type LogIndex } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { readFileIfThere, replaceFile } from '../files/durable-file.ts';

const RECOVERED_NAME = 'recovered-at';
const PATTERN = /^index (\d{16}) ([0-9a-f]{8})\n$/;
const INDEX_DIGITS = 16;

/**
 * 0 when there was none.
 * @throws DamagedLogError when it cannot be read; DiskError
 */
export async function readRecoveredIndex(dataDirectory: string, incarnation: string, disk: Disk): Promise<LogIndex> {
  const path = join(dataDirectory, RECOVERED_NAME);
  const bytes = await readFileIfThere(path, disk);
  if (bytes === undefined) return logIndex(0);
  const text = new TextDecoder().decode(bytes);
  const index = logIndex(Number(PATTERN.exec(text)?.[1] ?? 0));
  if (text !== line(index, incarnation)) {
    throw new DamagedLogError(path, 0, 'it does not say at which index a new cluster began');
  }
  return index;
}

/** **Durable** on resolve. */
export function writeRecoveredIndex(
  dataDirectory: string,
  incarnation: string,
  index: LogIndex,
  disk: Disk,
): Promise<void> {
  return replaceFile(join(dataDirectory, RECOVERED_NAME), new TextEncoder().encode(line(index, incarnation)), disk);
}

function line(index: LogIndex, incarnation: string): string {
  const text = `index ${String(index).padStart(INDEX_DIGITS, '0')}`;
  return `${text} ${crc32(text, crc32(incarnation)).toString(16).padStart(8, '0')}\n`;
}
