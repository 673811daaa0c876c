import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Entry, Readable, SnapshotEngine } from '../../src/engines/engine.ts';
import { EngineError } from '../../src/engines/engine-error.ts';
import { openJournalEngine } from '../../src/engines/journal-engine.ts';
import { openLmdbEngine } from '../../src/engines/lmdb-engine.ts';

const { disk } = nodeRuntime({ logger: silentLogger });
const ALL = { from: Uint8Array.of(0), to: Uint8Array.of(255), limit: 1_000 };

let directory: string;
let engine: SnapshotEngine;

/** Every key, and no other, has the number. */
async function writeAll(number: number, keys = 100): Promise<void> {
  await engine.commit((transaction) => {
    for (let key = 1; key <= keys; key += 1) transaction.put(Uint8Array.of(key), Uint8Array.of(number));
    transaction.delete(Uint8Array.of(1 + (number % keys)));
  });
}

function numbersIn(state: Readable): Set<number | undefined> {
  const entries: Entry[] = state.read((reader) => reader.range(ALL));
  const values = entries.map(({ key }) => state.read((reader) => reader.get(key))?.[0]);
  return new Set([...values, ...entries.map(({ value }) => value[0]), entries.length]);
}

describe.each([
  { name: 'LMDB', open: openLmdbEngine },
  { name: 'journal', open: openJournalEngine },
])('a snapshot of the $name engine', ({ open }) => {
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fenced-kv-snapshot-'));
    engine = await open(directory, { disk });
  });

  afterEach(async () => {
    await engine.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('shows one state while others are committed, through as many turns as it is open', async () => {
    await writeAll(1);
    const first = engine.snapshot();
    await writeAll(2);
    const second = engine.snapshot();
    for (let number = 3; number < 40; number += 1) {
      await writeAll(number);
      await new Promise((resolve) => setTimeout(resolve, 1));
      expect([numbersIn(first), numbersIn(second), numbersIn(engine)]).toEqual([
        new Set([1, 99]),
        new Set([2, 99]),
        new Set([number, 99]),
      ]);
    }
    first.close();
    expect(numbersIn(second)).toEqual(new Set([2, 99]));
    second.close();
    second.close();
    expect(numbersIn(engine)).toEqual(new Set([39, 99]));
  });

  it('has everything that had resolved when it was taken', async () => {
    for (let number = 1; number <= 50; number += 1) {
      await writeAll(number);
      const snapshot = engine.snapshot();
      expect(numbersIn(snapshot)).toEqual(new Set([number, 99]));
      snapshot.close();
    }
  });

  it('ends with the engine, and lets that be opened again', async () => {
    await writeAll(1);
    const snapshot = engine.snapshot();
    await writeAll(2);
    await engine.close();
    expect(() => numbersIn(snapshot)).toThrow(EngineError);
    snapshot.close();
    engine = await open(directory, { disk });
    expect(numbersIn(engine)).toEqual(new Set([2, 99]));
  });
});
