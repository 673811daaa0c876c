import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../src/fenced-store.ts';
import { MAX_EXPIRIES_A_COMMIT, MAX_TTL_MS, VALUE_CHUNK_BYTES } from '../src/limits.ts';
import { SortedMap } from '../src/engines/sorted-map.ts';
import { memoryEngine } from './support/memory-engine.ts';
import { refusalOf } from './support/refusal-of.ts';

const VALUE = new TextEncoder().encode('v');

/** Both clocks of a machine, set by hand. */
class HandClock {
  wall = 1_800_000_000_000;
  monotonic = 5_000;

  wallMs(): number {
    return this.wall;
  }

  monotonicMs(): number {
    return this.monotonic;
  }

  pass(ms: number): void {
    this.wall += ms;
    this.monotonic += ms;
  }
}

let map: SortedMap;
let clock: HandClock;
let store: FencedStore;

async function open(): Promise<void> {
  store = await FencedStore.open(memoryEngine(map), { clock });
}

beforeEach(async () => {
  map = new SortedMap();
  clock = new HandClock();
  await open();
});

async function put(key: string, ttlMs?: number): Promise<void> {
  await store.write('b', [{ key, value: VALUE, ttlMs }], { token: 1 });
}

async function exists(key: string): Promise<boolean> {
  return (await refusalOf(() => store.get('b', key))) === undefined;
}

describe('a key with a time to live', () => {
  it('is absent to every read from the moment on at which it is over, and to conditions', async () => {
    await put('k', 1_000);
    await put('other');
    clock.pass(999);
    expect(store.open('b', 'k').expiresInMs).toBe(1);
    expect(store.list('b').keys).toEqual([
      { key: 'k', revision: 1, bytes: 1, expiresInMs: 1 },
      { key: 'other', revision: 2, bytes: 1 },
    ]);
    clock.pass(1);
    expect(await refusalOf(() => store.get('b', 'k'))).toEqual({ code: 'KEY_NOT_FOUND', bucket: 'b', key: 'k' });
    expect(store.list('b').keys.map(({ key }) => key)).toEqual(['other']);
    const condition = (kind: 'exists' | 'absent'): Promise<unknown> =>
      refusalOf(() => store.write('b', [{ key: 'k', value: VALUE, conditions: [{ kind }] }], { token: 1 }));
    expect(await condition('exists')).toEqual({ code: 'PRECONDITION_FAILED', key: 'k', revision: null });
    expect(await condition('absent')).toBeUndefined();
    expect(await exists('k')).toBe(true);
  });

  it('lives for as long as its last write says', async () => {
    await put('k', 1_000);
    await put('k');
    clock.pass(5_000);
    expect(await exists('k')).toBe(true);
    await put('k', 1_000);
    clock.pass(500);
    await put('k', 1_000);
    clock.pass(999);
    expect(await store.removeExpired()).toBe(0);
    expect(await exists('k')).toBe(true);
    clock.pass(1);
    expect(await exists('k')).toBe(false);
    expect(await store.removeExpired()).toBe(1);
    expect(await store.removeExpired()).toBe(0);
  });

  it('is removed in batches, with all that it took', async () => {
    const keys = MAX_EXPIRIES_A_COMMIT + 3;
    const writes = Array.from({ length: keys }, (_, index) => ({ key: `k${index}`, value: VALUE, ttlMs: 10 + index }));
    await store.write('b', writes, { token: 1 });
    await put('stays');
    const upload = store.upload('b', { token: 1 });
    await upload.append(new Uint8Array(VALUE_CHUNK_BYTES));
    await store.write('b', [{ key: 'large', value: upload.value, ttlMs: 1 }], { token: 1 });
    await upload.used();
    const before = store.info('b').revision;
    clock.pass(10_000);
    expect(await store.removeExpired()).toBe(MAX_EXPIRIES_A_COMMIT);
    expect(await store.removeExpired()).toBe(4);
    expect(store.info('b')).toMatchObject({ keys: 1, bytes: 6, highest: 1, revision: before + 2 });
    const spaces = new Set(map.entries().map(({ key }) => key[0]));
    expect([...spaces].filter((space) => space === 5 || space === 7 || space === 8)).toEqual([]);
  });

  it('does not count when the wall clock jumps while the store runs', async () => {
    await put('k', 60_000);
    clock.wall += 10 * 365 * 86_400_000;
    expect(await exists('k')).toBe(true);
    clock.wall -= 20 * 365 * 86_400_000;
    clock.pass(59_999);
    expect(await exists('k')).toBe(true);
    clock.pass(1);
    expect(await exists('k')).toBe(false);
  });

  it('goes on by the wall clock while the store is stopped, and never lives again', async () => {
    await put('short', 1_000);
    await put('long', 60_000);
    clock.pass(2_000);
    await put('mark', 60_000); // writes the time down
    clock.monotonic = 0; // another boot
    clock.wall -= 3_600_000; // whose wall clock was set back
    await open();
    expect([await exists('short'), await exists('long')]).toEqual([false, true]);
    clock.wall += 3_600_000 + 58_000;
    await open();
    expect([await exists('long'), await exists('mark')]).toEqual([false, true]);
  });

  it.each([0, -1, 1.5, Number.NaN, MAX_TTL_MS + 1])(
    'has one that is a number of milliseconds, unlike %s',
    async (ttlMs) => {
      const refused = { code: 'INVALID_ARGUMENT', argument: 'ttlMs' };
      expect(await refusalOf(() => put('k', ttlMs))).toEqual(refused);
      const deletion = { key: 'k', value: undefined, ttlMs: 5 };
      expect(await refusalOf(() => store.write('b', [deletion], { token: 1 }))).toEqual(refused);
      expect(await refusalOf(() => store.info('b'))).toMatchObject({ code: 'BUCKET_NOT_FOUND' });
    },
  );

  it('is refused by a store without a clock, and read as if it lived for ever', async () => {
    await put('k', 1_000);
    clock.pass(5_000);
    store = await FencedStore.open(memoryEngine(map));
    expect(await refusalOf(() => put('other', 1_000))).toMatchObject({ argument: 'ttlMs' });
    expect(await exists('k')).toBe(true);
    expect(await store.removeExpired()).toBe(0);
  });

  it('leaves a page of a list shorter, which goes on all the same', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await put(key, key < 'c' ? 10 : undefined);
    clock.pass(10);
    const first = store.list('b', { limit: 2 });
    expect(first).toEqual({ keys: [], next: 'b' });
    expect(store.list('b', { limit: 2, after: first.next ?? '' }).keys.map(({ key }) => key)).toEqual(['c', 'd']);
  });
});
