/**
 * Somebody else's file that takes all the room of a file system. Nothing here is done synchronously: the file system may hang, and the one
 * who ends that is this process.
 */

import { open, rm, stat, statfs } from 'node:fs/promises';

import { run } from './tools.ts';

const BLOCK = new Uint8Array(4_096);
/** Above what any file system keeps back for the account of its blocks. */
const MAX_LAST_BLOCKS = 10_000;

/** @returns whether the kernel refuses one more block, as it must */
export async function takeAllRoom(path: string): Promise<boolean> {
  await (await open(path, 'a')).close();
  // Some of what is free is needed to keep account of the rest, so it takes a few steps.
  for (let bytes = await freeBytes(path); bytes >= BLOCK.length; bytes = Math.floor(bytes / 2)) {
    const args = ['-o', `${(await stat(path)).size}`, '-l', `${bytes}`, path];
    await run('fallocate', args).catch(() => undefined);
  }
  return refusesABlock(path);
}

export async function giveRoomBack(path: string): Promise<void> {
  await rm(path, { force: true });
}

async function refusesABlock(path: string): Promise<boolean> {
  const file = await open(path, 'a');
  try {
    for (let written = 0; written < MAX_LAST_BLOCKS; written += 1) await file.write(BLOCK);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return true;
    throw error;
  } finally {
    await file.close();
  }
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
