/** Damages what a server's log has acknowledged, on a simulated disk. */

import type { SimHost } from '@holdfast/runtime/sim';
import { acknowledgedPlace } from '../acknowledged-log.ts';

/** `at`: how far into the log, from 0 to 1. False when there is too little of it. */
export function flipAcknowledgedBit(disk: SimHost['disk'], at: number, bit: number): boolean {
  const present = new Set(disk.files());
  const segments = disk
    .durableFiles()
    // One that was renamed, which is not durable yet, is there under its new name.
    .filter((path) => path.endsWith('.wal') && present.has(path))
    .toSorted()
    .map((path) => ({ path, bytes: disk.durableBytes(path) ?? new Uint8Array() }));
  const place = acknowledgedPlace(segments, at);
  if (place === undefined) return false;
  disk.flipBit(place.path, place.offset, bit);
  return true;
}
