import fs from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeDisk } from '../../src/node/index.ts';

/** What the system writes at most with a call. */
let bytesPerCall = Infinity;
let calls = 0;

type Written = (error: Error | null, count: number) => void;

const real = { write: fs.write, writev: fs.writev };

function write(file: number, bytes: Uint8Array, from: number, length: number, position: number, done: Written): void {
  calls += 1;
  if (bytesPerCall === 0) setImmediate(done, null, 0);
  else real.write(file, bytes, from, Math.min(length, bytesPerCall), position, done);
}

function writev(file: number, buffers: readonly Uint8Array[], position: number, done: Written): void {
  const bytes = Buffer.concat(buffers);
  write(file, bytes, 0, bytes.length, position, done);
}

const content = Uint8Array.from({ length: 100 }, (_, n) => n);
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-disk-'));
  bytesPerCall = 7;
  calls = 0;
  Object.assign(fs, { write, writev });
  syncBuiltinESMExports();
});
afterEach(async () => {
  Object.assign(fs, real);
  syncBuiltinESMExports();
  await rm(directory, { recursive: true });
});

describe('a file whose system writes less than asked', () => {
  it('goes on behind what was written, in an append of one buffer and of several', async () => {
    const path = join(directory, 'file');
    const file = await nodeDisk().open(path, 'create');
    await file.append(0, [content]);
    expect(calls).toBe(15);
    await file.append(100, [content.subarray(0, 3), content.subarray(3, 50), content.subarray(50)]);
    await file.write(200, content);
    expect([...(await readFile(path))]).toEqual([...content, ...content, ...content]);
    await file.close();
  });

  it('is closed only when the last piece is written', async () => {
    const path = join(directory, 'file');
    const file = await nodeDisk().open(path, 'create');
    const append = file.append(0, [content]);
    await file.close();
    await append;
    expect([...(await readFile(path))]).toEqual([...content]);
  });

  it('reports a system that writes nothing at all', async () => {
    const file = await nodeDisk().open(join(directory, 'file'), 'create');
    bytesPerCall = 0;
    await expect(file.append(0, [content])).rejects.toMatchObject({ name: 'DiskError', code: 'IO' });
    await expect(file.write(0, content)).rejects.toThrow('wrote 0 of 100 bytes and then no more');
    await file.close();
  });
});
