/**
 * Which segments a log's directory has, by their names: consecutive numbers, of which the first may have been compacted away. What is
 * in them is for others to know.
 */

import { join } from 'node:path';
import type { Disk } from '@holdfast/runtime';
import type { LogIndex } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { parseSegmentFileName, SEGMENT_SUFFIX } from './segment-name.ts';

export interface SegmentFile {
  readonly path: string;
  readonly number: number;
  readonly firstIndex: LogIndex;
}

/** In order, without a gap; the first ones may have been compacted away. Empty for a directory without segments. */
export async function listSegments(directory: string, disk: Disk): Promise<SegmentFile[]> {
  const { files, gap } = await segmentsToGap(directory, disk);
  if (gap !== undefined) throw gap;
  return files;
}

/** Those before the first that is missing in the middle. */
export async function segmentsToGap(
  directory: string,
  disk: Disk,
): Promise<{ readonly files: SegmentFile[]; readonly gap: DamagedLogError | undefined }> {
  const files: SegmentFile[] = [];
  for (const name of await disk.list(directory)) {
    if (!name.endsWith(SEGMENT_SUFFIX)) continue;
    const parsed = parseSegmentFileName(name);
    const path = join(directory, name);
    if (parsed === undefined) {
      throw new DamagedLogError(path, 0, 'its name is not one that a log segment can have', { foreign: true });
    }
    files.push({ path, ...parsed });
  }
  const first = files[0]?.number ?? 1;
  for (const [at, { path, number }] of files.entries()) {
    if (number === first + at) continue;
    const gap = new DamagedLogError(path, 0, `segment ${first + at}, which comes before it, is missing`);
    return { files: files.slice(0, at), gap };
  }
  return { files, gap: undefined };
}
