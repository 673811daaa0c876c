/** A file that readers see as it was or as it is, and that a power loss leaves so. */

import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** One at a time for each name. */
export async function replaceDurably(directory: string, name: string, data: Uint8Array): Promise<void> {
  const fresh = join(directory, `${name}.new`);
  const file = await open(fresh, 'w');
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, join(directory, name));
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
