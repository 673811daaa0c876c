import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DiskError } from '@holdfast/runtime';
import type { Disk, DiskFile } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Engine } from '../../src/engines/engine.ts';
import { JOURNAL_NAME, openJournalEngine } from '../../src/engines/journal-engine.ts';
import type { JournalEngineOptions } from '../../src/engines/journal-engine.ts';
import { describeEngine } from './engine-conformance.ts';

const { disk } = nodeRuntime();

describeEngine('the journal', async (test) => {
  const directory = await mkdtemp(join(tmpdir(), 'fenced-kv-'));
  try {
    await test(async () => await openJournalEngine(join(directory, 'data'), { disk }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

describeEngine('a journal that is often rewritten', async (test) => {
  const directory = await mkdtemp(join(tmpdir(), 'fenced-kv-'));
  try {
    await test(async () => await openJournalEngine(join(directory, 'data'), { disk, rewriteMinBytes: 100 }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fenced-kv-'));
  path = join(directory, JOURNAL_NAME);
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function openIt(options: Partial<JournalEngineOptions> = {}): Promise<Engine> {
  return await openJournalEngine(directory, { disk, ...options });
}

async function put(engine: Engine, key: string, value: string): Promise<void> {
  await engine.commit((transaction) => transaction.put(Buffer.from(key), Buffer.from(value)));
}

function keysOf(engine: Engine): string[] {
  return engine.read((reader) => {
    const entries = reader.range({ from: Buffer.of(0), to: Buffer.of(255), limit: 1_000 });
    return entries.map(({ key }) => Buffer.from(key).toString());
  });
}

/** Writes keys a, b, c, one commit each, and returns where each commit's record ends. */
async function writeThree(): Promise<{ readonly whole: Buffer; readonly ends: readonly number[] }> {
  const engine = await openIt();
  const ends: number[] = [];
  for (const key of ['a', 'b', 'c']) {
    await put(engine, key, `value of ${key}`);
    ends.push((await stat(path)).size);
  }
  await engine.close();
  return { whole: await readFile(path), ends };
}

/** The node disk with some of a file's operations replaced. */
function diskWith(replace: (file: DiskFile) => Partial<DiskFile>): Disk {
  return {
    ...disk,
    async open(name, mode) {
      const file = await disk.open(name, mode);
      return {
        path: file.path,
        append: async (position, buffers) => await file.append(position, buffers),
        write: async (position, bytes) => await file.write(position, bytes),
        sync: async () => await file.sync(),
        read: async (position, length) => await file.read(position, length),
        truncate: async (length) => await file.truncate(length),
        size: async () => await file.size(),
        close: async () => await file.close(),
        ...replace(file),
      };
    },
  };
}

describe('a journal whose last write was torn', () => {
  it('keeps every commit that was acknowledged before, wherever the tear is, and goes on', async () => {
    const { whole, ends } = await writeThree();
    const [, second = 0, third = 0] = ends;
    for (let length = second; length < third; length += 1) {
      await writeFile(path, whole.subarray(0, length));
      const engine = await openIt();
      expect(keysOf(engine)).toEqual(['a', 'b']);
      await put(engine, 'd', '4');
      await engine.close();
      const again = await openIt();
      expect(keysOf(again)).toEqual(['a', 'b', 'd']);
      await again.close();
    }
  });

  it('never takes up what lies behind the tear', async () => {
    const { whole, ends } = await writeThree();
    const torn = Buffer.from(whole);
    torn.fill(0, ends[1], (ends[1] ?? 0) + 4); // the sector with the last record's beginning was not written
    await writeFile(path, torn);
    const engine = await openIt();
    expect(keysOf(engine)).toEqual(['a', 'b']);
    await engine.close();
    expect((await stat(path)).size).toBe(ends[1]);
  });

  it('is new where not even its header was finished', async () => {
    const { whole } = await writeThree();
    for (let length = 0; length <= 8; length += 1) {
      await writeFile(path, whole.subarray(0, length));
      const engine = await openIt();
      expect(keysOf(engine)).toEqual([]);
      await put(engine, 'a', '1');
      await engine.close();
    }
  });
});

describe('a journal with damage before its end', () => {
  it('is refused, since acknowledged commits are lost', async () => {
    const { whole, ends } = await writeThree();
    for (let position = 0; position < (ends[1] ?? 0); position += 1) {
      const damaged = Buffer.from(whole);
      damaged[position] = (damaged[position] ?? 0) ^ 0x10;
      await writeFile(path, damaged);
      await expect(openIt(), `byte ${position}`).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
    }
  });

  it('is refused where a whole record is missing', async () => {
    const { whole, ends } = await writeThree();
    await writeFile(path, Buffer.concat([whole.subarray(0, ends[0]), whole.subarray(ends[1])]));
    await expect(openIt()).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
  });
});

describe('a journal under overwriting', () => {
  it('is rewritten before it grows without bound, and loses nothing', async () => {
    let engine = await openIt({ rewriteMinBytes: 4_096 });
    for (let round = 0; round < 300; round += 1) await put(engine, `k${round % 10}`, `${round}`.padEnd(100));
    await engine.close();
    expect((await stat(path)).size).toBeLessThan(12_000);
    engine = await openIt();
    expect(keysOf(engine)).toHaveLength(10);
    expect(
      Buffer.from(engine.read((reader) => reader.get(Buffer.from('k9'))) ?? [])
        .toString()
        .trim(),
    ).toBe('299');
    await engine.close();
  });

  it('survives an end in the middle of a rewrite', async () => {
    await writeThree();
    await writeFile(join(directory, 'journal.new'), 'half');
    const engine = await openIt();
    expect(keysOf(engine)).toEqual(['a', 'b', 'c']);
    await engine.close();
    expect(await readdir(directory)).toEqual([JOURNAL_NAME]);
  });
});

describe('a commit on its way to the disk', () => {
  it('is seen by no reader, and takes those that arrive meanwhile into one next write', async () => {
    const gates: (() => void)[] = [];
    const gated = diskWith((file) => ({
      async append(position, buffers) {
        if (position > 0) await new Promise<void>((resolve) => gates.push(resolve));
        await file.append(position, buffers);
      },
    }));
    const engine = await openIt({ disk: gated });
    const first = put(engine, 'a', '1');
    await expect.poll(() => gates.length).toBe(1);
    const rest = Promise.all(['b', 'c', 'd'].map(async (key) => await put(engine, key, '1')));
    expect(keysOf(engine)).toEqual([]);
    gates[0]?.();
    await first;
    expect(keysOf(engine)).toEqual(['a']);
    await expect.poll(() => gates.length).toBe(2);
    gates[1]?.();
    await rest;
    expect([keysOf(engine), gates.length]).toEqual([['a', 'b', 'c', 'd'], 2]);
    await engine.close();
  });

  it('that the disk refuses ends the engine, and nothing is retried', async () => {
    let full = false;
    let appends = 0;
    const failing = diskWith((file) => ({
      async append(position, buffers) {
        appends += 1;
        if (full) throw new DiskError('NO_SPACE', file.path, 'ENOSPC: no space left on device');
        await file.append(position, buffers);
      },
    }));
    const failures: Error[] = [];
    const engine = await openIt({ disk: failing, onFailure: (error) => failures.push(error) });
    await put(engine, 'a', '1');
    full = true;
    await expect(put(engine, 'b', '2')).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: true });
    full = false;
    const before = appends;
    await expect(put(engine, 'c', '3')).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: false });
    expect(() => keysOf(engine)).toThrow(expect.objectContaining({ code: 'DISK_ERROR' }));
    expect([appends, failures.length]).toEqual([before, 1]);
    await engine.close();
  });
});
