/**
 * Big-endian whole numbers in short byte arrays. A DataView, or the `buffer` of a short array, would give each of them memory of its own
 * outside of the heap, which costs more than all else that a write does in memory.
 */

const HALF = 2 ** 32;

export function readUint32(bytes: Uint8Array, at: number): number {
  return (
    ((byteAt(bytes, at) << 24) |
      (byteAt(bytes, at + 1) << 16) |
      (byteAt(bytes, at + 2) << 8) |
      byteAt(bytes, at + 3)) >>>
    0
  );
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Up to 2^53 - 1, in eight bytes. */
export function readUint64(bytes: Uint8Array, at: number): number {
  return readUint32(bytes, at) * HALF + readUint32(bytes, at + 4);
}

export function writeUint64(bytes: Uint8Array, at: number, value: number): void {
  writeUint32(bytes, at, Math.floor(value / HALF));
  writeUint32(bytes, at + 4, value % HALF);
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}
