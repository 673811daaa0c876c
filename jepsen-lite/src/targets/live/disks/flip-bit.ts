/** Damages what a server's log has acknowledged, in the files of a server that is down. */

import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { acknowledgedPlace } from '../../acknowledged-log.ts';

/**
 * @param directory the server's data
 * @param at how far into the log, from 0 to 1
 * @returns false when there is too little of it
 */
export function flipAcknowledgedBit(directory: string, at: number, bit: number): boolean {
  const segments = walFiles(directory).map((path) => ({ path, bytes: readFileSync(path) }));
  const place = acknowledgedPlace(segments, at);
  if (place === undefined) return false;
  const file = openSync(place.path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, place.offset);
    byte.writeUInt8(byte.readUInt8() ^ (1 << bit));
    writeSync(file, byte, 0, 1, place.offset);
    fsyncSync(file);
    return true;
  } finally {
    closeSync(file);
  }
}

function walFiles(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.wal'))
    .toSorted()
    .map((name) => join(directory, name));
}
