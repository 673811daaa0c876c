import { beforeEach, describe, expect, it } from 'vitest';

import type { BackupRecord } from '../../src/backup/backup-file.ts';
import { restoreBackup } from '../../src/backup/restore.ts';
import { takeBackup } from '../../src/backup/take-backup.ts';
import { SortedMap } from '../../src/engines/sorted-map.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { MAX_INLINE_VALUE_BYTES } from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import type { MemoryEngine } from '../support/memory-engine.ts';
import { refusalOf } from '../support/refusal-of.ts';

interface Place {
  readonly map: SortedMap;
  readonly engine: MemoryEngine;
  readonly store: FencedStore;
}

let now: number;
let source: Place;

beforeEach(async () => {
  now = 0;
  source = await place();
});

async function place(map: SortedMap = new SortedMap()): Promise<Place> {
  const engine = memoryEngine(map);
  const clock = { wallMs: () => 1_000, monotonicMs: () => now };
  return { map, engine, store: await FencedStore.open(engine, { clock }) };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function put(store: FencedStore, bucket: string, key: string, value: string, token: number): Promise<void> {
  await store.write(bucket, [{ key, value: bytes(value) }], { token });
}

function read(store: FencedStore, bucket: string, key: string): string {
  return new TextDecoder().decode(store.get(bucket, key).value);
}

async function backupOf({ engine }: Place): Promise<BackupRecord[]> {
  const records: BackupRecord[] = [];
  await takeBackup(engine, async (record) => {
    records.push(record);
  });
  return records;
}

async function* replay(records: readonly BackupRecord[], failAfter = Infinity): AsyncGenerator<BackupRecord> {
  for (const [index, record] of records.entries()) {
    if (index === failAfter) throw new Error('the power is gone');
    yield record;
  }
}

/** Restored, and opened as at the next start. */
async function restored(target: Place, records: readonly BackupRecord[]): Promise<FencedStore> {
  await restoreBackup(target.engine, replay(records));
  return (await place(target.map)).store;
}

describe('a backup that is restored into an empty store', () => {
  it('has every bucket with its fence and kind, every key and every value', async () => {
    await source.store.create('bound', { tokens: 'optional', lock: 'jobs' });
    for (let index = 0; index < 600; index += 1) await put(source.store, 'many', `k${index}`, `v${index}`, 7);
    await put(source.store, 'accounts', 'ключ/1', '', 41);
    await source.store.install('accounts', 57);
    const records = await backupOf(source);
    const store = await restored(await place(), records);
    expect(store.info('bound')).toMatchObject({ tokens: 'optional', lock: 'jobs', highest: 0, keys: 0 });
    expect(store.info('many')).toMatchObject({ highest: 7, keys: 600, bytes: source.store.info('many').bytes });
    for (let index = 0; index < 600; index += 1) expect(read(store, 'many', `k${index}`)).toBe(`v${index}`);
    expect(read(store, 'accounts', 'ключ/1')).toBe('');
    expect(await refusalOf(async () => await put(store, 'accounts', 'k', 'v', 56))).toEqual({
      code: 'STALE_TOKEN',
      presented: 56,
      highest: 57,
    });
    await put(store, 'accounts', 'k', 'v', 57);
  });

  it('has large values in chunks of its own', async () => {
    const value = Uint8Array.from({ length: MAX_INLINE_VALUE_BYTES + 300_001 }, (_, index) => (index * 31) & 0xff);
    for (const key of ['a', 'b']) {
      const upload = source.store.upload('b', { token: 1 });
      for (let at = 0; at < value.length; at += 262_144) await upload.append(value.slice(at, at + 262_144));
      await source.store.write('b', [{ key, value: upload.value }], { token: 1 });
      await upload.used();
    }
    const records = await backupOf(source);
    const target = await place();
    const store = await restored(target, records);
    expect(Buffer.compare(store.get('b', 'a').value, value)).toBe(0);
    expect(Buffer.compare(store.get('b', 'b').value, value)).toBe(0);
    // Again over itself: those of before go.
    const chunks = (): number => target.map.entries().filter(({ key }) => key[0] === 5).length;
    const before = chunks();
    const again = await restored(target, records);
    expect(Buffer.compare(again.get('b', 'a').value, value)).toBe(0);
    expect(chunks()).toBe(before);
  });

  it('keeps the times at which keys expire, and the clock', async () => {
    await source.store.write('b', [{ key: 'short', value: bytes('v'), ttlMs: 500 }], { token: 1 });
    await source.store.write('b', [{ key: 'long', value: bytes('v'), ttlMs: 5_000 }], { token: 1 });
    now = 400;
    await source.store.write('b', [{ key: 'long', value: bytes('w'), ttlMs: 5_000 }], { token: 1 });
    const records = await backupOf(source);
    // The wall clock of the other machine is behind: the store goes on from the time that was written down.
    now = 0;
    const { map } = await place();
    await restoreBackup(memoryEngine(map), replay(records));
    const { store } = await place(map);
    expect(store.open('b', 'short').expiresInMs).toBe(100);
    now = 100;
    expect(await refusalOf(() => store.get('b', 'short'))).toMatchObject({ code: 'KEY_NOT_FOUND' });
    expect(read(store, 'b', 'long')).toBe('w');
    expect(await store.removeExpired()).toBe(1);
    expect(store.info('b').keys).toBe(1);
  });
});

describe('a backup that is restored into a store that has data', () => {
  it('lowers no fence, and leaves buckets alone that it does not have', async () => {
    await put(source.store, 'behind', 'k', 'backup', 10);
    await put(source.store, 'ahead', 'k', 'backup', 90);
    const records = await backupOf(source);
    const target = await place();
    await put(target.store, 'behind', 'k', 'newer', 60);
    await put(target.store, 'behind', 'gone', 'newer', 60);
    await put(target.store, 'ahead', 'k', 'newer', 60);
    await put(target.store, 'other', 'k', 'own', 60);
    const counts = await restoreBackup(target.engine, replay(records));
    expect(counts).toEqual({ buckets: 2, keys: 2, keptFences: 1 });
    const { store } = await place(target.map);
    expect(store.info('behind')).toMatchObject({ highest: 60, keys: 1 });
    expect(store.info('ahead')).toMatchObject({ highest: 90, keys: 1 });
    expect([read(store, 'behind', 'k'), read(store, 'ahead', 'k')]).toEqual(['backup', 'backup']);
    expect(await refusalOf(() => store.get('behind', 'gone'))).toMatchObject({ code: 'KEY_NOT_FOUND' });
    expect([read(store, 'other', 'k'), store.info('other').highest]).toEqual(['own', 60]);
    expect(await refusalOf(async () => await put(store, 'behind', 'k', 'stale', 59))).toMatchObject({
      code: 'STALE_TOKEN',
      highest: 60,
    });
  });

  it('keeps what a bucket is for its life', async () => {
    await source.store.create('b', { tokens: 'optional' });
    const records = await backupOf(source);
    const target = await place();
    await target.store.create('b', { tokens: 'required', lock: 'jobs' });
    const store = await restored(target, records);
    expect(store.info('b')).toMatchObject({ tokens: 'required', lock: 'jobs' });
  });

  it('gives its keys a revision that the bucket has not had', async () => {
    await put(source.store, 'b', 'k', 'backup', 1);
    const records = await backupOf(source);
    const target = await place();
    for (const value of ['x', 'y', 'z']) await put(target.store, 'b', 'k', value, 1);
    const known = target.store.info('b').revision;
    const store = await restored(target, records);
    expect(store.get('b', 'k').revision).toBe(known + 1);
    expect(store.info('b').revision).toBe(known + 1);
    // Who followed the bucket must begin anew: what the restore has changed is in no history.
    expect(await refusalOf(() => store.follow('b', known))).toMatchObject({ code: 'MISSED' });
  });
});

describe('a restore that does not get to its end', () => {
  it('leaves a store that does not open, whose fences are not lower, and may be run again', async () => {
    for (let index = 0; index < 300; index += 1) await put(source.store, 'b', `k${index}`, 'backup', 10);
    const records = await backupOf(source);
    const target = await place();
    await put(target.store, 'b', 'k0', 'newer', 60);
    for (const failAfter of [0, 1, 2, 5, 300, records.length - 1]) {
      await expect(restoreBackup(target.engine, replay(records, failAfter))).rejects.toThrow('the power is gone');
      await expect(FencedStore.open(memoryEngine(target.map))).rejects.toMatchObject({
        code: 'DAMAGED_DATA',
        message: expect.stringContaining('run fenced-kvd restore again') as string,
      });
    }
    const store = await restored(target, records);
    expect(store.info('b')).toMatchObject({ highest: 60, keys: 300, bytes: source.store.info('b').bytes });
    expect(read(store, 'b', 'k0')).toBe('backup');
  });
});

describe('a backup', () => {
  it('is not taken of a store in which something is missing', async () => {
    await put(source.store, 'b', 'k', 'value'.padEnd(2_000), 1);
    const [entry] = source.map.entries().filter(({ key }) => key[0] === 4);
    source.map.apply({ key: entry?.key ?? new Uint8Array(0), value: undefined });
    await expect(backupOf(source)).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
  });
});
