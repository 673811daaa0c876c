import { beforeEach, describe, expect, it } from 'vitest';

import { takeBackup } from '../../src/backup/take-backup.ts';
import { SortedMap } from '../../src/engines/sorted-map.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import {
  decodeKeyRecord,
  encodeKeyRecord,
  FORMAT_KEY,
  MAX_RECORD_VALUE_BYTES,
  recordKey,
  valueKey,
} from '../../src/keyspace.ts';
import { memoryEngine } from '../support/memory-engine.ts';

const CLOCK = { wallMs: () => 1_800_000_000_000, monotonicMs: () => 0 };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const valueOf = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => (index * 31) & 0xff);

let map: SortedMap;
let store: FencedStore;

beforeEach(async () => {
  map = new SortedMap();
  store = await FencedStore.open(memoryEngine(map), { clock: CLOCK });
});

async function write(value: Uint8Array | undefined, ttlMs?: number): Promise<void> {
  await store.write('b', [{ key: 'k', value, ttlMs }], { token: 1 });
}

/** Values that lie apart from the records of their keys. */
function apart(): number {
  return map.entries().filter(({ key }) => key[0] === 4).length;
}

describe('a value', () => {
  it('lies in the record of its key up to a length, and apart beyond it', async () => {
    for (const [length, expected] of [
      [0, 0],
      [1, 0],
      [MAX_RECORD_VALUE_BYTES, 0],
      [MAX_RECORD_VALUE_BYTES + 1, 1],
      [5_000, 1],
    ] as const) {
      await write(valueOf(length));
      expect(apart()).toBe(expected);
      expect(store.get('b', 'k').value).toEqual(valueOf(length));
      expect(store.list('b').keys).toMatchObject([{ key: 'k', bytes: length }]);
      expect(store.info('b')).toMatchObject({ keys: 1, bytes: 1 + length });
    }
  });

  it('leaves nothing behind where a shorter one, none or a longer one follows', async () => {
    const long = MAX_RECORD_VALUE_BYTES + 1;
    for (const length of [long, 3, long, undefined, 3, long, undefined]) {
      await write(length === undefined ? undefined : valueOf(length));
      expect(apart()).toBe(length === long ? 1 : 0);
      if (length !== undefined) expect(store.get('b', 'k').value).toEqual(valueOf(length));
    }
    expect(store.info('b')).toMatchObject({ keys: 0, bytes: 0 });
  });

  it('has a time to live beside it', async () => {
    await write(valueOf(100), 500);
    const found = store.open('b', 'k');
    expect(found.value).toEqual(valueOf(100));
    expect(found.expiresInMs).toBe(500);
  });

  it('is in a backup once, wherever it lies', async () => {
    await store.write(
      'b',
      [
        { key: 'long', value: valueOf(2_000) },
        { key: 'short', value: valueOf(20) },
      ],
      { token: 1 },
    );
    const found: unknown[] = [];
    await takeBackup(memoryEngine(map), async (record) => {
      if (record.type === 'key') found.push(record.record);
      if (record.type === 'value') found.push(record.bytes);
      await Promise.resolve();
    });
    expect(found).toEqual([
      { revision: 1, valueBytes: 2_000 },
      valueOf(2_000),
      { revision: 1, valueBytes: 20 },
      valueOf(20),
    ]);
  });
});

describe('data of the second version', () => {
  it('is read where its values lie, and moves when its keys are written', async () => {
    await write(valueOf(20));
    const [recordName, valueName] = [recordKey('b', bytes('k')), valueKey('b', bytes('k'))];
    map.apply({ key: recordName, value: encodeKeyRecord({ revision: 1, valueBytes: 20 }) });
    map.apply({ key: valueName, value: valueOf(20) });
    map.apply({ key: FORMAT_KEY, value: Uint8Array.of(2) });
    store = await FencedStore.open(memoryEngine(map), { clock: CLOCK });
    expect(map.get(FORMAT_KEY)).toEqual(Uint8Array.of(3));
    expect(store.get('b', 'k').value).toEqual(valueOf(20));
    await write(valueOf(30));
    expect(apart()).toBe(0);
    expect(store.get('b', 'k').value).toEqual(valueOf(30));
    expect(store.info('b')).toMatchObject({ keys: 1, bytes: 31 });
  });
});

describe('the record of a key', () => {
  it('is read as it was written, with everything that it may have', () => {
    for (const value of [undefined, valueOf(0), valueOf(7)]) {
      for (const expiresAtMs of [undefined, 1_800_000_000_000]) {
        for (const largeValue of value === undefined ? [undefined, 9] : [undefined]) {
          const record = { revision: 5, valueBytes: value?.length ?? 12, largeValue, expiresAtMs };
          const decoded = decodeKeyRecord(encodeKeyRecord({ ...record, value }));
          expect(decoded).toMatchObject({ revision: 5, valueBytes: record.valueBytes });
          expect([decoded?.largeValue, decoded?.expiresAtMs]).toEqual([largeValue, expiresAtMs]);
          expect(decoded?.value === undefined ? undefined : new Uint8Array(decoded.value)).toEqual(value);
        }
      }
    }
  });

  it('is not believed where a part of it is missing, or more follows', () => {
    const whole = encodeKeyRecord({ revision: 5, valueBytes: 7, value: valueOf(7), expiresAtMs: 1 });
    for (let length = 0; length < whole.length; length += 1) {
      const record = decodeKeyRecord(whole.subarray(0, length));
      // The first twelve bytes are a record by themselves.
      expect(record).toEqual(length === 12 ? { revision: 5, valueBytes: 7 } : undefined);
    }
    expect(decodeKeyRecord(Uint8Array.of(...whole, 0))).toBeUndefined();
    // Both a large value and a short one, and a bit that nobody knows.
    for (const flags of [5, 7, 8, 16]) {
      const wrong = Uint8Array.from(whole);
      wrong[12] = flags;
      expect(decodeKeyRecord(wrong)).toBeUndefined();
    }
  });
});
