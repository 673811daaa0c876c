/** LMDB as `fenced-kvd` opens it, without anything around it: what a put resolves with is on the disk. The library commits in groups. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { open, type RootDatabase } from 'lmdb';

export type PlainLmdb = RootDatabase<Uint8Array, Uint8Array>;

export function openPlainLmdb(directory: string): PlainLmdb {
  mkdirSync(directory, { recursive: true });
  return open<Uint8Array, Uint8Array>({
    path: join(directory, 'data.mdb'),
    noSubdir: true,
    keyEncoding: 'binary',
    encoding: 'binary',
    cache: false,
    compression: false,
    // With the library's default a put resolves before the sync.
    overlappingSync: false,
    maxDbs: 1,
  });
}
