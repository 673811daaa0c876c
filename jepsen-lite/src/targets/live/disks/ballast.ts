/** Somebody else's file that takes all the room of a file system. */

import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';

import { run } from './tools.ts';

const BLOCK = new Uint8Array(4_096);
/** Above what any file system keeps back for the account of its blocks. */
const MAX_LAST_BLOCKS = 10_000;

/** @returns whether the kernel refuses one more block, as it must */
export async function takeAllRoom(path: string): Promise<boolean> {
  closeSync(openSync(path, 'a'));
  // Some of what is free is needed to keep account of the rest, so it takes a few steps.
  for (let bytes = freeBytes(path); bytes >= BLOCK.length; bytes = Math.floor(bytes / 2)) {
    const args = ['-o', `${statSync(path).size}`, '-l', `${bytes}`, path];
    await run('fallocate', args).catch(() => undefined);
  }
  return refusesABlock(path);
}

export function giveRoomBack(path: string): void {
  rmSync(path, { force: true });
}

function refusesABlock(path: string): boolean {
  const file = openSync(path, 'a');
  try {
    for (let written = 0; written < MAX_LAST_BLOCKS; written += 1) writeSync(file, BLOCK);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return true;
    throw error;
  } finally {
    closeSync(file);
  }
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
