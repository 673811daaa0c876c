/** Does on the real disk of the runtime what it is told, one line of JSON after another, and answers `ok` and a result, or `error` and a code. */

import { createInterface } from 'node:readline';

import type { DiskFile } from '@holdfast/runtime';
import { DiskError } from '@holdfast/runtime';
import { nodeDisk } from '@holdfast/runtime/node';

const disk = nodeDisk();
const files = new Map<string, DiskFile>();

async function fileAt(path: string): Promise<DiskFile> {
  const file = files.get(path) ?? (await disk.open(path, 'create'));
  files.set(path, file);
  return file;
}

/** Bytes that are none of a file's zeros. */
function content(length: number): Uint8Array {
  return new Uint8Array(length).fill(7);
}

async function perform([operation, path, other]: readonly [string, string, string | number]): Promise<unknown> {
  switch (operation) {
    case 'zeros':
      return (await fileAt(path)).append(0, [new Uint8Array(Number(other))]);
    case 'append':
      return (await fileAt(path)).append(0, [content(Number(other))]);
    case 'write':
      return (await fileAt(path)).write(0, content(Number(other)));
    case 'sync':
      return (await fileAt(path)).sync();
    case 'make-directory':
      return disk.makeDirectory(path);
    case 'rename':
      return disk.rename(path, String(other));
    case 'sync-directory':
      return disk.syncDirectory(path);
    case 'free-bytes':
      return disk.freeBytes(path);
    case 'lock':
      await disk.lockDirectory(path);
      return undefined;
    default:
      throw new Error(`no such operation: ${operation}`);
  }
}

process.umask(0);
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await perform(JSON.parse(line) as [string, string, string]).then(
    (result) => `ok ${typeof result === 'number' ? result : ''}`.trim(),
    (error: unknown) => `error ${error instanceof DiskError ? error.code : String(error)}`,
  );
  process.stdout.write(`${answer}\n`);
}
