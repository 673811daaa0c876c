/** How long a file is. */

import { DiskError, type Disk } from '@holdfast/runtime';

/** Undefined when there is no such file. */
export async function fileSize(path: string, disk: Disk): Promise<number | undefined> {
  try {
    const file = await disk.open(path, 'existing');
    try {
      return await file.size();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}
