import { mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Engine } from '../../src/engines/engine.ts';
import { LMDB_FILE_NAME, openLmdbEngine } from '../../src/engines/lmdb-engine.ts';
import { describeEngine } from './engine-conformance.ts';

const { disk } = nodeRuntime({ logger: silentLogger });

describeEngine('LMDB', async (test) => {
  const directory = await mkdtemp(join(tmpdir(), 'fenced-kv-'));
  try {
    await test(async () => await openLmdbEngine(directory, { disk }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

describe('the LMDB file', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fenced-kv-'));
    path = join(directory, LMDB_FILE_NAME);
  });

  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  async function openIt(): Promise<Engine> {
    return await openLmdbEngine(directory, { disk });
  }

  async function fill(): Promise<void> {
    const engine = await openIt();
    for (let round = 0; round < 5; round += 1) {
      await engine.commit((transaction) => {
        for (let index = 0; index < 200; index += 1)
          transaction.put(Buffer.from(`key-${round}-${index}`), new Uint8Array(500).fill(index));
      });
    }
    await engine.commit((transaction) => transaction.put(Buffer.from('large'), new Uint8Array(300_000).fill(7)));
    await engine.close();
  }

  it('that is something else is refused as damaged', async () => {
    for (const content of [Buffer.alloc(100_000, 0x5a), Buffer.from('hello'), Buffer.alloc(8_192, 'x')]) {
      await writeFile(path, content);
      await expect(openIt()).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
    }
  });

  it('that was cut is refused as damaged, wherever the cut is', async () => {
    await fill();
    const whole = await readFile(path);
    for (const share of [0.02, 0.3, 0.6, 0.9]) {
      await writeFile(path, whole.subarray(0, Math.floor(whole.length * share)));
      await expect(openIt()).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
    }
    await truncate(path, 5_000);
    await expect(openIt()).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
    await writeFile(path, whole);
    await (await openIt()).close();
  });

  it('that LMDB itself left shorter than its count of pages is opened', async () => {
    await fill();
    const whole = await readFile(path);
    // Both meta pages (the first names the page size) count three more pages, none of which a tree reaches.
    for (const meta of [0, whole.readUInt32LE(48)])
      whole.writeBigUInt64LE(whole.readBigUInt64LE(meta + 144) + 3n, meta + 144);
    await writeFile(path, whole);
    const engine = await openIt();
    await engine.commit((transaction) => transaction.put(Buffer.from('more'), new Uint8Array(100_000)));
    expect(
      engine.read((reader) => reader.range({ from: Buffer.of(0), to: Buffer.of(255), limit: 2_000 })),
    ).toHaveLength(1_002);
    await engine.close();
  });

  it('whose creation never finished is made anew', async () => {
    for (const size of [0, 8_192]) {
      await writeFile(path, Buffer.alloc(size));
      const engine = await openIt();
      await engine.commit((transaction) => transaction.put(Buffer.from('a'), Buffer.from('1')));
      await engine.close();
    }
  });

  it('with a changed value tells so instead of returning it', async () => {
    await fill();
    const content = await readFile(path);
    const position = content.indexOf(Buffer.alloc(2_000, 7)) + 1_000;
    const file = await open(path, 'r+');
    await file.write(Buffer.of(8), 0, 1, position);
    await file.close();
    const engine = await openIt();
    expect(() => engine.read((reader) => reader.get(Buffer.from('large')))).toThrow(
      expect.objectContaining({ code: 'DAMAGED_DATA' }),
    );
    expect(engine.read((reader) => reader.get(Buffer.from('key-0-0')))).toHaveLength(500);
    await engine.close();
  });

  it('has nothing of a group of which one write fails, neither at once nor after a restart', async () => {
    const engine = await openIt();
    await engine.commit((transaction) => transaction.put(Buffer.from('before'), Buffer.from('1')));
    // LMDB takes no key of this length, and says so when those before it in the group are written.
    const outcomes = await Promise.allSettled([
      engine.commit((transaction) => transaction.put(Buffer.from('a'), Buffer.from('1'))),
      engine.commit((transaction) => transaction.delete(Buffer.from('before'))),
      engine.commit((transaction) => transaction.put(Buffer.alloc(10_000, 'k'), Buffer.from('1'))),
      engine.commit((transaction) => transaction.put(Buffer.from('b'), Buffer.from('1'))),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
    await engine.close();
    const again = await openIt();
    const all = { from: Buffer.of(0), to: Buffer.of(255), limit: 10 };
    expect(again.read((reader) => reader.range(all)).map(({ key }) => Buffer.from(key).toString())).toEqual(['before']);
    await again.close();
  });

  it('does not grow without bound under overwriting', async () => {
    const engine = await openIt();
    const value = new Uint8Array(100_000);
    for (let round = 0; round < 100; round += 1)
      await engine.commit((transaction) => transaction.put(Buffer.from('k'), value));
    await engine.close();
    expect((await stat(path)).size).toBeLessThan(2_000_000);
  });
});
