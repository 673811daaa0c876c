/** Small files that are there as a whole or not at all. */

import { dirname } from 'node:path';
import { DiskError, type Disk } from '@holdfast/runtime';

/** Undefined when there is none. */
export async function readFileIfThere(path: string, disk: Disk): Promise<Uint8Array | undefined> {
  try {
    return await disk.readFile(path);
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Takes the place of what was there. **Durable** on resolve. */
export async function replaceFile(path: string, bytes: Uint8Array, disk: Disk): Promise<void> {
  const temporary = `${path}.tmp`;
  await removeIfThere(temporary, disk);
  const file = await disk.open(temporary, 'create');
  try {
    await file.append(0, [bytes]);
  } finally {
    await file.close();
  }
  await disk.rename(temporary, path);
  await disk.syncDirectory(dirname(path));
}

export async function removeIfThere(path: string, disk: Disk): Promise<void> {
  try {
    await disk.remove(path);
  } catch (error) {
    if (!(error instanceof DiskError && error.code === 'NOT_FOUND')) throw error;
  }
}
