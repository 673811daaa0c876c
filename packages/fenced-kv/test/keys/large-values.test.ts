import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import type { LargeValue } from '../../src/keys/large-values.ts';
import { MAX_UPLOADS, MAX_VALUE_BYTES, VALUE_CHUNK_BYTES } from '../../src/limits.ts';
import { SortedMap } from '../../src/engines/sorted-map.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import { refusalOf } from '../support/refusal-of.ts';

let map: SortedMap;
let store: FencedStore;

beforeEach(async () => {
  map = new SortedMap();
  store = await FencedStore.open(memoryEngine(map));
});

/** Bytes that differ from chunk to chunk. */
function valueOf(bytes: number, seed = 1): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, index) => (index * 31 + (index >>> 16) + seed) & 0xff);
}

async function upload(value: Uint8Array): Promise<LargeValue> {
  const upload = store.upload('b', { token: 1 });
  for (let at = 0; at < value.length; at += VALUE_CHUNK_BYTES) {
    await upload.append(value.slice(at, at + VALUE_CHUNK_BYTES));
  }
  await upload.used();
  return upload.value;
}

async function write(value: Uint8Array | LargeValue | undefined, key = 'k'): Promise<void> {
  await store.write('b', [{ key, value }], { token: 1 });
}

/** Records of chunks, and of values that no key has. */
function pieces(): { readonly chunks: number; readonly loose: number } {
  const spaces = map.entries().map(({ key }) => key[0]);
  return {
    chunks: spaces.filter((space) => space === 5).length,
    loose: spaces.filter((space) => space === 7).length,
  };
}

const LARGE = 3 * VALUE_CHUNK_BYTES + 5;

describe('a large value', () => {
  it('is there as a whole once its key has it, and not before', async () => {
    const value = valueOf(LARGE);
    const large = await upload(value);
    expect(await refusalOf(() => store.get('b', 'k'))).toMatchObject({ code: 'BUCKET_NOT_FOUND' });
    expect(pieces()).toEqual({ chunks: 4, loose: 1 });
    await write(large);
    expect(Buffer.compare(store.get('b', 'k').value, value)).toBe(0);
    expect(pieces()).toEqual({ chunks: 4, loose: 0 });
    expect(store.list('b').keys).toEqual([{ key: 'k', revision: 1, bytes: LARGE }]);
    expect(store.info('b')).toMatchObject({ keys: 1, bytes: 1 + LARGE });
  });

  it('of exactly so many chunks has no empty one behind them', async () => {
    const value = valueOf(2 * VALUE_CHUNK_BYTES);
    await write(await upload(value));
    expect(pieces().chunks).toBe(2);
    expect(Buffer.compare(store.get('b', 'k').value, value)).toBe(0);
  });

  it.each([
    ['another large one', async () => await write(await upload(valueOf(VALUE_CHUNK_BYTES, 7)))],
    ['a small one', async () => await write(new Uint8Array([1]))],
    ['nothing', async () => await write(undefined)],
  ])('leaves nothing behind when %s takes its place', async (what, replace) => {
    await write(await upload(valueOf(LARGE)));
    await replace();
    await expect.poll(pieces).toEqual({ chunks: what === 'another large one' ? 1 : 0, loose: 0 });
    const { keys, bytes } = store.info('b');
    const left = store.list('b').keys.reduce((sum, key) => sum + 1 + key.bytes, 0);
    expect([keys, bytes]).toEqual([store.list('b').keys.length, left]);
  });

  it('takes the place of a small one, of which nothing is left', async () => {
    await write(new Uint8Array(10));
    await write(await upload(valueOf(LARGE)));
    expect(map.entries().filter(({ key }) => key[0] === 4)).toEqual([]);
    expect(store.info('b')).toMatchObject({ keys: 1, bytes: 1 + LARGE });
  });

  it('is read to its end by who has begun, whatever is written meanwhile, and removed then', async () => {
    const value = valueOf(LARGE);
    await write(await upload(value));
    const first = store.open('b', 'k');
    const second = store.open('b', 'k');
    await write(undefined);
    const read: Uint8Array[] = [];
    if (first.value instanceof Uint8Array) throw new Error('it is in chunks');
    for (let index = 0; ; index += 1) {
      const chunk = first.value.chunk(index);
      if (chunk === undefined) break;
      read.push(chunk);
    }
    expect(Buffer.compare(Buffer.concat(read), value)).toBe(0);
    first.close();
    first.close(); // again: without effect
    await store.install('b', 2);
    expect(pieces()).toEqual({ chunks: 4, loose: 1 });
    second.close();
    await expect.poll(pieces).toEqual({ chunks: 0, loose: 0 });
  });

  it('that no key was given is removed when it is abandoned', async () => {
    const abandoned = store.upload('b', { token: 1 });
    await abandoned.append(valueOf(VALUE_CHUNK_BYTES));
    await abandoned.abandon();
    await abandoned.abandon();
    expect(pieces()).toEqual({ chunks: 0, loose: 0 });
    await store.upload('b', { token: 1 }).abandon(); // without a chunk
  });

  it('is not touched by a restart, which removes what no key has', async () => {
    const value = valueOf(LARGE);
    await write(await upload(value));
    const replaced = store.open('b', 'k'); // a reader that the end of the process takes with it
    await write(await upload(valueOf(LARGE, 9)));
    await upload(valueOf(LARGE, 3));
    expect(pieces()).toEqual({ chunks: 12, loose: 2 });
    store = await FencedStore.open(memoryEngine(map));
    expect(pieces()).toEqual({ chunks: 4, loose: 0 });
    expect(Buffer.compare(store.get('b', 'k').value, valueOf(LARGE, 9))).toBe(0);
    expect(replaced.bytes).toBe(LARGE);
    // Numbers that were set aside before are not used again.
    await write(await upload(valueOf(LARGE, 4)), 'other');
    expect(Buffer.compare(store.get('b', 'k').value, valueOf(LARGE, 9))).toBe(0);
  });

  it('of which a chunk is missing or cut is damaged', async () => {
    await write(await upload(valueOf(LARGE)));
    const chunk = map.entries().find(({ key }) => key[0] === 5 && key[12] === 1);
    map.apply({ key: chunk?.key ?? new Uint8Array(), value: new Uint8Array(7) });
    expect(() => store.get('b', 'k')).toThrow('chunk 1 of large value 1');
    map.apply({ key: chunk?.key ?? new Uint8Array(), value: undefined });
    expect(() => store.get('b', 'k')).toThrow('chunk 1 of large value 1');
  });

  it('has at most so many bytes', async () => {
    const tooLarge = store.upload('b', { token: 1 });
    const chunk = new Uint8Array(VALUE_CHUNK_BYTES);
    for (let bytes = 0; bytes < MAX_VALUE_BYTES; bytes += chunk.length) await tooLarge.append(chunk);
    expect(await refusalOf(() => tooLarge.append(new Uint8Array(1)))).toEqual({
      code: 'LIMIT_EXCEEDED',
      argument: 'value',
      limit: MAX_VALUE_BYTES,
    });
    await write(tooLarge.value);
    expect(store.list('b').keys[0]?.bytes).toBe(MAX_VALUE_BYTES);
  });

  it('is not begun by who may not write, nor beside too many others', async () => {
    await store.install('b', 5);
    expect(await refusalOf(() => store.upload('b', { token: 4 }))).toMatchObject({ code: 'STALE_TOKEN' });
    expect(await refusalOf(() => store.upload('b'))).toMatchObject({ code: 'TOKEN_REQUIRED' });
    const uploads = Array.from({ length: MAX_UPLOADS }, () => store.upload('b', { token: 5 }));
    expect(() => store.upload('b', { token: 5 })).toThrow('try again later');
    await uploads[0]?.abandon();
    await store.upload('b', { token: 5 }).abandon();
  });
});
