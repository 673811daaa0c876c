/** What a replica has that does not run: its buckets with its log on top, and nothing of its own. */

import { beforeEach, describe, expect, it } from 'vitest';

import type { Engine } from '../../../src/engines/engine.ts';
import type { DurableWrite } from '../../../src/replication/core/index.ts';
import {
  directoryName,
  offlineBuckets,
  replicaDirectory,
  ReplicaStore,
} from '../../../src/replication/durable/index.ts';
import { encodeWrites } from '../../../src/replication/durable/payload.ts';
import { memoryEngine } from '../../support/memory-engine.ts';

const NOTHING: DurableWrite = {
  installed: undefined,
  truncateFrom: undefined,
  entries: [],
  base: undefined,
  copy: undefined,
};
const KEY = Uint8Array.of(3, 1);
const GONE = Uint8Array.of(3, 2);
const ALL = { from: Uint8Array.of(0), to: Uint8Array.of(0xff, 0xff), limit: 100 };
const write = (key: Uint8Array, value: string | undefined): { key: Uint8Array; value: Uint8Array | undefined } => ({
  key,
  value: value === undefined ? undefined : new TextEncoder().encode(value),
});

let engine: Engine;
let store: ReplicaStore;

beforeEach(async () => {
  engine = memoryEngine();
  store = await ReplicaStore.open(engine, () => 'r1');
  const first = [write(KEY, 'old'), write(GONE, 'there')];
  await store.persist({
    ...NOTHING,
    installed: 7,
    entries: [
      { index: 1, epoch: 7, payload: undefined },
      { index: 2, epoch: 7, payload: encodeWrites(first) },
      { index: 3, epoch: 7, payload: encodeWrites([write(KEY, 'new'), write(GONE, undefined)]) },
    ],
  });
  const applying = store.apply(2, first);
  store.flush();
  await applying;
});

describe('the buckets of a replica that does not run', () => {
  it('have what is in the log alone, removals too, and no key of the replica', async () => {
    const buckets = await offlineBuckets(engine);
    const found = buckets.read((reader) => reader.range(ALL));
    expect(found.map(({ key, value }) => [[...key], new TextDecoder().decode(value)])).toEqual([[[3, 1], 'new']]);
    const [own] = engine.read((reader) => reader.range({ ...ALL, from: Uint8Array.of(0xff) }));
    expect(buckets.read((reader) => reader.get(own?.key ?? KEY))).toBeUndefined();
  });

  it('are not changed', async () => {
    const before = engine.read((reader) => reader.range(ALL));
    const buckets = await offlineBuckets(engine);
    await expect(buckets.commit((transaction) => transaction.delete(KEY))).rejects.toMatchObject({ code: 'CLOSED' });
    expect(engine.read((reader) => reader.range(ALL))).toEqual(before);
  });

  it('are refused where a copy was under way', async () => {
    await store.persist({ ...NOTHING, copy: { step: 'drop', epoch: 8, copy: 1, cursor: '' } });
    await expect(offlineBuckets(engine)).rejects.toMatchObject({ refusal: { code: 'INVALID_ARGUMENT' } });
  });
});

describe('a replica that has never caught up', () => {
  it('has no buckets to be taken: those of an empty store are another thing', async () => {
    const empty = memoryEngine();
    await ReplicaStore.open(empty, () => 'r2');
    await expect(offlineBuckets(empty)).rejects.toThrow('nothing yet');
  });
});

describe('a directory', () => {
  it('says of which replica it is', () => {
    expect(replicaDirectory(engine)).toEqual({ id: 'r1', hasData: false });
    expect(replicaDirectory(memoryEngine())).toEqual({ id: undefined, hasData: false });
  });

  it('keeps the name that was drawn for it, over a copy too', async () => {
    const name = '0123456789abcdef0123456789abcdef';
    expect(await directoryName(engine, () => name)).toBe(name);
    await store.persist({ ...NOTHING, copy: { step: 'drop', epoch: 8, copy: 1, cursor: '' } });
    expect(await directoryName(engine, () => 'f'.repeat(32))).toBe(name);
  });
});
