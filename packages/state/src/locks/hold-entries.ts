/** How often the owner of a hold has entered its lock and not left it, as the extra of its queue node that says so; one entry needs none. */

import { MAX_HOLD_ENTRIES } from '@holdfast/protocol';

/** u32. */
export const HOLD_ENTRIES_BYTES = 4;

export function writeEntries(entries: number): Uint8Array {
  const bytes = new Uint8Array(HOLD_ENTRIES_BYTES);
  new DataView(bytes.buffer).setUint32(0, entries, true);
  return bytes;
}

/** Undefined for what is none. */
export function readEntries(bytes: Uint8Array): number | undefined {
  if (bytes.length !== HOLD_ENTRIES_BYTES) return undefined;
  const entries = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  return entries > 1 && entries <= MAX_HOLD_ENTRIES ? entries : undefined;
}
