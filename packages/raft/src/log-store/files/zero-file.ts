/** Zeros in the place of bytes that are no longer part of a log. */

import type { Disk } from '@holdfast/runtime';

const PIECE_BYTES = 1024 * 1024;

/** **Durable** on resolve: what is cut must not come back behind a later, shorter write. */
export async function zeroFile(path: string, from: number, to: number, disk: Disk): Promise<void> {
  const file = await disk.open(path, 'existing');
  try {
    for (let at = from; at < to; at += PIECE_BYTES) {
      await file.append(at, [new Uint8Array(Math.min(PIECE_BYTES, to - at))]);
    }
  } finally {
    await file.close();
  }
}
