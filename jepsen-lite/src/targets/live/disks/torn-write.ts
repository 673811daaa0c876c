/** A write that a power failure cut short: any of its sectors may be on the disk, but not all of them. */

const SECTOR_BYTES = 512;

export interface Piece {
  readonly position: number;
  readonly bytes: Uint8Array;
}

/**
 * The sectors that got there: some and not all, each by the toss of a coin. Sectors lie at multiples of 512 of the file's positions. A
 * write within one sector can't be torn: none got there.
 *
 * @param random from 0 to below 1
 */
export function tornPieces(position: number, bytes: Uint8Array, random: () => number): Piece[] {
  const sectors = sectorsOf(position, bytes);
  if (sectors.length < 2) return [];
  const kept = sectors.filter(() => random() < 0.5);
  if (kept.length > 0 && kept.length < sectors.length) return kept;
  const alone = sectors[Math.floor(random() * sectors.length)];
  return alone === undefined ? [] : [alone];
}

function sectorsOf(position: number, bytes: Uint8Array): Piece[] {
  const sectors: Piece[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
    sectors.push({ position: position + at, bytes: bytes.subarray(at, end) });
    at = end;
  }
  return sectors;
}
