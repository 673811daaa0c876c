import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { describe, expect, it } from 'vitest';

import type { Engine } from '../../../src/engines/engine.ts';
import { openLmdbEngine } from '../../../src/engines/lmdb-engine.ts';
import type { Write } from '../../../src/engines/group-commit.ts';
import { FencedStore } from '../../../src/fenced-store.ts';
import { SortedMap } from '../../../src/engines/sorted-map.ts';
import type { DurableWrite, Entry } from '../../../src/replication/core/index.ts';
import { ReplicaStore } from '../../../src/replication/durable/index.ts';
import { encodeWrites } from '../../../src/replication/durable/payload.ts';
import { memoryEngine } from '../../support/memory-engine.ts';

const { disk } = nodeRuntime({ logger: silentLogger });
const NOTHING: DurableWrite = {
  installed: undefined,
  truncateFrom: undefined,
  entries: [],
  base: undefined,
  copy: undefined,
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const payload = (key: string, value: string | undefined): Uint8Array =>
  encodeWrites([{ key: bytes(key), value: value === undefined ? undefined : bytes(value) }]);

function entry(index: number, epoch: number): Entry {
  return { index, epoch, payload: index === 1 ? undefined : payload(`key-${index}`, `value ${index}`) };
}

function keysOf(engine: Engine): string[] {
  const range = { from: bytes('a'), to: bytes('z'), limit: 10_000 };
  return engine.read((reader) => reader.range(range).map(({ key }) => new TextDecoder().decode(key)));
}

/** As at the next write of the log. */
async function applied(store: ReplicaStore, upTo: number, writes: readonly Write[]): Promise<void> {
  const applying = store.apply(upTo, writes);
  store.flush();
  await applying;
}

async function onLmdb(test: (open: () => Promise<Engine>) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'fenced-kv-'));
  try {
    await test(async () => await openLmdbEngine(directory, { disk }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function inMemory(test: (open: () => Promise<Engine>) => Promise<void>): Promise<void> {
  const map = new SortedMap();
  await test(async () => await Promise.resolve(memoryEngine(map)));
}

describe.each([
  ['LMDB', onLmdb],
  ['memory', inMemory],
])('the disk of a replica, on %s', (_, inWorld) => {
  it('has after a restart what was written: epoch, log, how far it is applied, and its name', async () => {
    await inWorld(async (open) => {
      const engine = await open();
      const store = await ReplicaStore.open(engine, () => 'r1');
      await store.persist({ ...NOTHING, installed: 57 });
      await store.persist({ ...NOTHING, entries: [entry(1, 57), entry(2, 57), entry(3, 57), entry(4, 57)] });
      await store.persist({ ...NOTHING, truncateFrom: 4, entries: [entry(4, 57), entry(5, 57)] });
      await applied(store, 3, [{ key: bytes('key-2'), value: bytes('value 2') }]);
      await store.persist({ ...NOTHING, base: { index: 2, epoch: 57 } });
      await engine.close();
      const again = await open();
      const found = await ReplicaStore.open(again, () => 'another');
      expect(found.id).toBe('r1');
      expect(found.load()).toEqual({
        installed: 57,
        base: { index: 2, epoch: 57 },
        applied: 3,
        entries: [entry(3, 57), entry(4, 57), entry(5, 57)],
        copy: { epoch: 0, copy: 0, cursor: undefined },
      });
      expect(keysOf(again)).toEqual(['key-2']);
      await again.close();
    });
  });

  it('gives its buckets part by part, of which another makes the same ones', async () => {
    await inWorld(async (open) => {
      const engine = await open();
      const store = await ReplicaStore.open(engine, () => 'r1');
      const value = new Uint8Array(40_000).fill(7);
      for (let number = 0; number < 40; number += 1) {
        await applied(store, 0, [{ key: bytes(`key-${number}`), value }]);
      }
      const other = memoryEngine();
      const copy = await ReplicaStore.open(other, () => 'r2');
      await copy.persist({ ...NOTHING, installed: 57, entries: [entry(1, 57), entry(2, 57)] });
      await applied(copy, 2, [{ key: bytes('old'), value: bytes('gone with the first part') }]);
      void copy.persist({ ...NOTHING, copy: { step: 'drop', epoch: 57, copy: 1, cursor: '' } });
      let parts = 0;
      for (let part = store.readPart(''); ; part = store.readPart(part.to)) {
        parts += 1;
        const base = { index: 900, epoch: 41 };
        await copy.persist({ ...NOTHING, copy: part.last ? { step: 'end', part, base } : { step: 'part', part } });
        if (part.last) break;
      }
      expect(parts).toBeGreaterThan(3);
      expect(keysOf(other)).toEqual(keysOf(engine));
      expect(copy.load()).toMatchObject({ base: { index: 900, epoch: 41 }, applied: 900, entries: [] });
      await engine.close();
    });
  });

  it('takes nothing of a store that was in no group, unless the group begins with it', async () => {
    await inWorld(async (open) => {
      const engine = await open();
      await FencedStore.open(engine);
      const opened = ReplicaStore.open(engine, () => 'r1');
      await expect(opened).rejects.toMatchObject({ refusal: { code: 'INVALID_ARGUMENT', argument: 'data' } });
      const adopted = await ReplicaStore.open(engine, () => 'r1', { adopt: true });
      expect(adopted.load()).toMatchObject({ base: { index: 1, epoch: 0 }, applied: 1, entries: [] });
      await engine.close();
    });
  });
});

describe('a replica that is asked for more than the engine takes at once', () => {
  it('makes it durable all the same, in its order', async () => {
    const engine = memoryEngine();
    const store = await ReplicaStore.open(engine, () => 'r1');
    const count = 5_000;
    const writes = Array.from({ length: count }, async (_, at) => {
      await store.persist({ ...NOTHING, entries: [entry(at + 1, 0)] });
    });
    await Promise.all(writes);
    expect(store.load().entries).toHaveLength(count);
    expect(engine.groups).toBeLessThan(count / 100);
  });
});

describe('the buckets of a replica', () => {
  const write = (number: number, bytesOfValue = 10): Write => ({
    key: bytes(`key-${number}`),
    value: new Uint8Array(bytesOfValue).fill(7),
  });

  it('are brought up to date when that is asked for, and no write of the log does it before', async () => {
    const engine = memoryEngine();
    const store = await ReplicaStore.open(engine, () => 'r1');
    const { groups } = engine;
    const applying = [store.apply(1, [write(1)]), store.apply(2, [write(2)])];
    await store.persist({ ...NOTHING, entries: [entry(1, 0), entry(2, 0), entry(3, 0)] });
    expect([engine.groups - groups, keysOf(engine)]).toEqual([1, []]);
    expect((await ReplicaStore.open(engine, () => 'r1')).load().applied).toBe(0);
    store.flush();
    await Promise.all(applying);
    expect(keysOf(engine)).toEqual(['key-1', 'key-2']);
    expect((await ReplicaStore.open(engine, () => 'r1')).load()).toMatchObject({ applied: 2, entries: { length: 3 } });
  });

  it('lack no more than a bound, of writes and of bytes', async () => {
    const engine = memoryEngine();
    const store = await ReplicaStore.open(engine, () => 'r1');
    for (let number = 1; number < 1_024; number += 1) void store.apply(number, [write(number)]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(keysOf(engine)).toEqual([]);
    await store.apply(1_024, [write(1_024)]);
    expect(keysOf(engine)).toHaveLength(1_024);
    void store.apply(1_025, [write(2_000, 3 * 1024 * 1024)]);
    await store.apply(1_026, [write(2_001, 1024 * 1024)]);
    expect(keysOf(engine)).toHaveLength(1_026);
  });

  it('have what they lacked before a copy takes their place', async () => {
    const engine = memoryEngine();
    const store = await ReplicaStore.open(engine, () => 'r1');
    const applying = store.apply(1, [write(1)]);
    const dropping = store.persist({ ...NOTHING, copy: { step: 'drop', epoch: 57, copy: 1, cursor: '' } });
    await Promise.all([applying, dropping]);
    expect(keysOf(engine)).toEqual([]);
    expect(store.load()).toMatchObject({ applied: 0, copy: { epoch: 57, copy: 1, cursor: '' } });
  });
});

describe('a replica whose buckets were being dropped', () => {
  it('goes on with that at its next start', async () => {
    const map = new SortedMap();
    const engine = memoryEngine(map);
    const store = await ReplicaStore.open(engine, () => 'r1');
    for (let number = 0; number < 100; number += 1)
      await applied(store, 0, [{ key: bytes(`key-${number}`), value: bytes('v') }]);
    let commits = 0;
    const dying: Engine = {
      ...engine,
      commit: async (body) => {
        commits += 1;
        if (commits > 4) throw new Error('the power is gone');
        return await engine.commit(body);
      },
    };
    const half = await ReplicaStore.open(dying, () => 'r1');
    const drop = half.persist({ ...NOTHING, copy: { step: 'drop', epoch: 57, copy: 1, cursor: '' } });
    await expect(drop).rejects.toThrow('the power is gone');
    expect(keysOf(engine).length).toBeGreaterThan(0);
    const again = await ReplicaStore.open(memoryEngine(map), () => 'r1');
    expect(keysOf(memoryEngine(map))).toEqual([]);
    expect(again.load()).toMatchObject({ applied: 0, entries: [], copy: { epoch: 57, copy: 1, cursor: '' } });
  });

  it('says that its record cannot be read', async () => {
    const map = new SortedMap();
    await ReplicaStore.open(memoryEngine(map), () => 'r1');
    map.apply({ key: Uint8Array.of(0xff, 0), value: bytes('{"format":9}') });
    await expect(ReplicaStore.open(memoryEngine(map), () => 'r1')).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
  });
});
