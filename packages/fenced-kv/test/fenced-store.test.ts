import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';

import { EngineError } from '../src/engines/engine-error.ts';
import { FencedStore } from '../src/fenced-store.ts';
import {
  MAX_BATCH_BYTES,
  MAX_BATCH_WRITES,
  MAX_INLINE_VALUE_BYTES,
  MAX_KEY_BYTES,
  MAX_TOKEN_JUMP,
} from '../src/limits.ts';
import { SortedMap } from '../src/engines/sorted-map.ts';
import { memoryEngine } from './support/memory-engine.ts';
import { refusalOf } from './support/refusal-of.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array): string => new TextDecoder().decode(value);

let map: SortedMap;
let store: FencedStore;

beforeEach(async () => {
  map = new SortedMap();
  store = await FencedStore.open(memoryEngine(map));
});

function snapshot(): string {
  return JSON.stringify(map.entries().map(({ key, value }) => [[...key], [...value]]));
}

describe('a bucket', () => {
  it('is created by the first write, and by the first installed token', async () => {
    expect(await refusalOf(() => store.info('a'))).toEqual({ code: 'BUCKET_NOT_FOUND', bucket: 'a' });
    await store.write('a', [{ key: 'k', value: bytes('v') }], { token: 3 });
    await store.install('b', 4);
    expect(store.info('a')).toMatchObject({ highest: 3, keys: 1, tokens: 'required' });
    expect(store.info('b')).toMatchObject({ highest: 4, keys: 0, revision: 0 });
  });

  it('is not created by a refused write', async () => {
    expect(await refusalOf(() => store.write('a', [{ key: 'k', value: bytes('v') }]))).toMatchObject({
      code: 'TOKEN_REQUIRED',
    });
    expect(await refusalOf(() => store.get('a', 'k'))).toMatchObject({ code: 'BUCKET_NOT_FOUND' });
  });

  it('has a highest token of its own', async () => {
    await store.install('a', 57);
    await store.write('b', [{ key: 'k', value: bytes('v') }], { token: 2 });
    expect(store.info('b').highest).toBe(2);
  });

  it('keeps its token policy for life', async () => {
    expect(await store.create('a', { tokens: 'optional' })).toEqual({ created: true });
    expect(await store.create('a', { tokens: 'optional' })).toEqual({ created: false });
    expect(await refusalOf(() => store.create('a', { tokens: 'required' }))).toEqual({
      code: 'BUCKET_EXISTS',
      bucket: 'a',
      tokens: 'optional',
      lock: null,
    });
    await store.write('a', [{ key: 'k', value: bytes('late') }]);
    expect(text(store.get('a', 'k').value)).toBe('late');
  });

  it('can have its fence reset, upwards and downwards, without touching its keys', async () => {
    await store.write('a', [{ key: 'k', value: bytes('v') }], { token: 57 });
    expect(await store.resetFence('a', 0)).toEqual({ highest: 0, previous: 57 });
    await store.write('a', [{ key: 'k', value: bytes('w') }], { token: 1 });
    expect(await refusalOf(() => store.resetFence('nowhere', 0))).toMatchObject({ code: 'BUCKET_NOT_FOUND' });
    expect(store.info('a')).toMatchObject({ highest: 1, keys: 1 });
  });
});

describe('a bucket of holders that share a lock', () => {
  const put = async (token: number, floor?: number): Promise<unknown> =>
    await refusalOf(() => store.write('a', [{ key: 'k', value: bytes(`${token}`) }], { token, floor }));

  it('lets all of them write, and refuses who was lost once another tells a higher floor', async () => {
    expect(await put(41, 41)).toBeUndefined();
    expect(await put(57, 41)).toBeUndefined();
    expect(await put(41, 41)).toBeUndefined();
    expect(store.info('a').highest).toBe(41);
    expect(await put(60, 57)).toBeUndefined();
    expect(await put(41, 41)).toEqual({ code: 'STALE_TOKEN', presented: 41, highest: 57 });
    expect(await put(57, 41)).toBeUndefined(); // an older floor takes nothing back
    expect(store.info('a', { token: 57, floor: 57 }).highest).toBe(57);
  });

  it('takes holders that are alone beside them: the floor of those is the token', async () => {
    expect(await put(57, 41)).toBeUndefined();
    expect(await put(60)).toBeUndefined();
    expect(await put(57, 41)).toEqual({ code: 'STALE_TOKEN', presented: 57, highest: 60 });
  });

  it('installs a floor before a read, and reads under each token that is not below', async () => {
    expect(await store.install('a', 57, 41)).toEqual({ highest: 41, previous: 0 });
    expect(store.info('a', { token: 57, floor: 41 })).toMatchObject({ highest: 41 });
    expect(await refusalOf(() => store.info('a', { token: 57, floor: 50 }))).toMatchObject({
      code: 'TOKEN_NOT_INSTALLED',
      presented: 50,
    });
    expect(await store.install('b', 57, 0)).toEqual({ highest: 0, previous: 0 });
  });

  it.each([
    [41, 42],
    [41, -1],
    [41, 1.5],
    [41, Number.NaN],
    [undefined, 41],
  ])('refuses token %s with the floor %s, and changes nothing', async (token, floor) => {
    const before = snapshot();
    const refused = { code: 'INVALID_ARGUMENT', argument: 'floor' };
    const write = [{ key: 'k', value: bytes('v') }];
    expect(await refusalOf(() => store.write('a', write, { token, floor }))).toEqual(refused);
    expect(await refusalOf(() => store.info('a', { token, floor }))).toEqual(refused);
    if (token !== undefined) expect(await refusalOf(() => store.install('a', token, floor))).toEqual(refused);
    expect(snapshot()).toBe(before);
  });
});

describe('a write', () => {
  it('with a higher token installs it', async () => {
    await store.write('a', [{ key: 'k', value: bytes('1') }], { token: 41 });
    await store.write('a', [{ key: 'k', value: bytes('2') }], { token: 57 });
    expect(store.info('a').highest).toBe(57);
  });

  it('with a stale token changes nothing at all', async () => {
    await store.write('a', [{ key: 'k', value: bytes('1') }], { token: 57 });
    const before = snapshot();
    const late = [{ key: 'k', value: bytes('late') }];
    expect(await refusalOf(() => store.write('a', late, { token: 41 }))).toEqual({
      code: 'STALE_TOKEN',
      presented: 41,
      highest: 57,
    });
    expect(await refusalOf(() => store.install('a', 56))).toEqual({ code: 'STALE_TOKEN', presented: 56, highest: 57 });
    expect(snapshot()).toBe(before);
  });

  it('is judged by its token before its conditions', async () => {
    await store.write('a', [{ key: 'k', value: bytes('1') }], { token: 57 });
    const write = { key: 'k', value: bytes('2'), conditions: [{ kind: 'absent' as const }] };
    expect(await refusalOf(() => store.write('a', [write], { token: 41 }))).toMatchObject({ code: 'STALE_TOKEN' });
    expect(await refusalOf(() => store.write('a', [write]))).toMatchObject({ code: 'TOKEN_REQUIRED' });
  });

  it('whose condition fails installs its newer token all the same, and nothing else', async () => {
    const { revision } = await store.write('a', [{ key: 'k', value: bytes('1') }], { token: 57 });
    const before = store.info('a');
    const write = {
      key: 'k',
      value: bytes('2'),
      conditions: [{ kind: 'revision-in' as const, revisions: [revision + 1] }],
    };
    expect(await refusalOf(() => store.write('a', [write], { token: 60 }))).toEqual({
      code: 'PRECONDITION_FAILED',
      key: 'k',
      revision,
    });
    expect(store.info('a')).toEqual({ ...before, highest: 60 });
    const late = [{ key: 'k', value: bytes('late') }];
    expect(await refusalOf(() => store.write('a', late, { token: 59 }))).toMatchObject({ code: 'STALE_TOKEN' });
    expect(text(store.get('a', 'k', { token: 60 }).value)).toBe('1');
  });

  it('whose condition fails under the installed token, or without one, changes nothing', async () => {
    await store.write('a', [{ key: 'k', value: bytes('1') }], { token: 57 });
    await store.create('free', { tokens: 'optional' });
    const before = snapshot();
    const write = { key: 'k', value: bytes('2'), conditions: [{ kind: 'revision-in' as const, revisions: [99] }] };
    for (const [bucket, token] of [
      ['a', 57],
      ['free', undefined],
    ] as const) {
      expect(await refusalOf(() => store.write(bucket, [write], { token }))).toMatchObject({
        code: 'PRECONDITION_FAILED',
      });
    }
    expect(snapshot()).toBe(before);
  });

  it('whose condition fails makes the bucket that its token is the first of', async () => {
    const write = { key: 'k', value: bytes('2'), conditions: [{ kind: 'exists' as const }] };
    expect(await refusalOf(() => store.write('new', [write], { token: 9 }))).toEqual({
      code: 'PRECONDITION_FAILED',
      key: 'k',
      revision: null,
    });
    expect(store.info('new')).toMatchObject({ highest: 9, keys: 0, revision: 0, bytes: 0 });
  });

  it('of a group commit sees the token of one before it whose condition failed', async () => {
    await store.install('a', 1);
    const failing = { key: 'k', value: bytes('2'), conditions: [{ kind: 'exists' as const }] };
    const [first, second] = await Promise.all([
      refusalOf(() => store.write('a', [failing], { token: 9 })),
      refusalOf(() => store.write('a', [{ key: 'k', value: bytes('late') }], { token: 8 })),
    ]);
    expect(first).toMatchObject({ code: 'PRECONDITION_FAILED' });
    expect(second).toEqual({ code: 'STALE_TOKEN', presented: 8, highest: 9 });
  });

  it('gives a key a revision that no other value of it ever has, not even after a deletion', async () => {
    const first = await store.write('a', [{ key: 'k', value: bytes('1') }], { token: 1 });
    await store.write('a', [{ key: 'k', value: undefined }], { token: 1 });
    const second = await store.write('a', [{ key: 'k', value: bytes('1') }], { token: 1 });
    expect(second.revision).toBeGreaterThan(first.revision);
    expect(store.get('a', 'k').revision).toBe(second.revision);
  });

  it('of several keys happens whole or not at all', async () => {
    await store.write('a', [{ key: 'x', value: bytes('1') }], { token: 1 });
    const before = snapshot();
    const batch = [
      { key: 'y', value: bytes('2') },
      { key: 'x', value: bytes('2'), conditions: [{ kind: 'absent' as const }] },
    ];
    expect(await refusalOf(() => store.write('a', batch, { token: 1 }))).toMatchObject({
      code: 'PRECONDITION_FAILED',
      key: 'x',
    });
    expect(snapshot()).toBe(before);
    expect(await refusalOf(() => store.write('a', batch, { token: 2 }))).toMatchObject({ code: 'PRECONDITION_FAILED' });
    expect(store.info('a')).toMatchObject({ highest: 2, keys: 1 });
    const { revision } = await store.write(
      'a',
      [
        { key: 'y', value: bytes('2') },
        { key: 'x', value: undefined },
      ],
      { token: 2 },
    );
    expect(store.list('a').keys).toEqual([{ key: 'y', revision, bytes: 1 }]);
  });

  it('beyond a limit is refused with that limit', async () => {
    const put = (key: string, size: number) => ({ key, value: new Uint8Array(size) });
    const tooMany = Array.from({ length: MAX_BATCH_WRITES + 1 }, (_, index) => put(`k${index}`, 1));
    const tooLarge = Array.from({ length: MAX_BATCH_BYTES / MAX_INLINE_VALUE_BYTES }, (_, index) =>
      put(`k${index}`, MAX_INLINE_VALUE_BYTES),
    );
    for (const [writes, limit] of [
      [[put('k'.repeat(MAX_KEY_BYTES + 1), 1)], MAX_KEY_BYTES],
      [[put('é'.repeat(MAX_KEY_BYTES / 2 + 1), 1)], MAX_KEY_BYTES],
      [[put('k', MAX_INLINE_VALUE_BYTES + 1)], MAX_INLINE_VALUE_BYTES],
      [tooMany, MAX_BATCH_WRITES],
      [tooLarge, MAX_BATCH_BYTES],
    ] as const) {
      expect(await refusalOf(() => store.write('a', writes, { token: 1 }))).toMatchObject({
        code: 'LIMIT_EXCEEDED',
        limit,
      });
    }
    await store.write('a', [put('k'.repeat(MAX_KEY_BYTES), MAX_INLINE_VALUE_BYTES)], { token: 1 });
    expect(store.info('a').bytes).toBe(MAX_KEY_BYTES + MAX_INLINE_VALUE_BYTES);
  });

  it.each(['', '.', '..', 'a\ud800'])('of the key %j is refused', async (key) => {
    expect(await refusalOf(() => store.write('a', [{ key, value: bytes('v') }], { token: 1 }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 53])('with the token %d is refused', async (token) => {
    expect(await refusalOf(() => store.install('a', token))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument: 'token',
    });
  });

  it('twice of one key in one batch is refused', async () => {
    const batch = [
      { key: 'k', value: bytes('1') },
      { key: 'k', value: bytes('2') },
    ];
    expect(await refusalOf(() => store.write('a', batch, { token: 1 }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('a token far above the highest', () => {
  const RECOVERY = 2 ** 38;

  it('is refused, since it would fence off every holder to come, and changes nothing', async () => {
    await store.install('a', 57);
    const before = snapshot();
    const poison = Number.MAX_SAFE_INTEGER;
    const refusal = { code: 'TOKEN_JUMP_REFUSED', presented: poison, highest: 57, limit: MAX_TOKEN_JUMP };
    expect(await refusalOf(() => store.install('a', poison))).toEqual(refusal);
    expect(await refusalOf(() => store.write('a', [{ key: 'k', value: bytes('v') }], { token: poison }))).toEqual(
      refusal,
    );
    expect(snapshot()).toBe(before);
    await store.install('a', 58);
  });

  it('passes after a recovery of the ensemble, a repeated one too, whatever the bucket has missed before it', async () => {
    await store.install('a', 57);
    await store.install('a', 57 + 1_000_000_000 + RECOVERY);
    expect(await refusalOf(() => store.install('a', 57 + RECOVERY))).toMatchObject({ code: 'STALE_TOKEN' });
    await store.install('b', 57);
    // Three attempts from one directory, each of which begins above the one before.
    await store.install('b', 57 + 1_000_000_000 + 3 * RECOVERY);
  });

  it('passes up to the limit, and as the first of a bucket', async () => {
    await store.install('a', 57);
    expect(await refusalOf(() => store.install('a', 58 + MAX_TOKEN_JUMP))).toMatchObject({
      code: 'TOKEN_JUMP_REFUSED',
    });
    await store.install('a', 57 + MAX_TOKEN_JUMP);
    await store.install('b', Number.MAX_SAFE_INTEGER);
  });

  it('passes where the operator allows it', async () => {
    const open = await FencedStore.open(memoryEngine(map), { allowTokenJumps: true });
    await open.install('a', 57);
    await open.install('a', 2 ** 52);
    expect(open.info('a').highest).toBe(2 ** 52);
  });
});

describe('a read', () => {
  beforeEach(async () => {
    await store.write('a', [{ key: 'k', value: bytes('v') }], { token: 57 });
  });

  it('without a token is served', () => {
    expect(text(store.get('a', 'k').value)).toBe('v');
  });

  it('with a token is served only when that is the installed one, and never installs', async () => {
    for (const read of [
      (token: number) => store.get('a', 'k', { token }),
      (token: number) => store.list('a', { token }),
      (token: number) => store.info('a', { token }),
    ]) {
      expect(await refusalOf(() => read(57))).toBeUndefined();
      expect(await refusalOf(() => read(41))).toEqual({ code: 'STALE_TOKEN', presented: 41, highest: 57 });
      expect(await refusalOf(() => read(60))).toEqual({ code: 'TOKEN_NOT_INSTALLED', presented: 60, highest: 57 });
    }
    expect(store.info('a').highest).toBe(57);
  });

  it('of an absent key says so', async () => {
    expect(await refusalOf(() => store.get('a', 'other'))).toEqual({
      code: 'KEY_NOT_FOUND',
      bucket: 'a',
      key: 'other',
    });
  });
});

describe('a list', () => {
  it('pages through the keys with a prefix in the order of their bytes, and through no other bucket', async () => {
    const keys = ['a', 'a/1', 'a/2', 'a/é', 'a/😀', 'a/z', 'b'];
    await store.write(
      'box',
      keys.map((key) => ({ key, value: bytes(key) })),
      { token: 1 },
    );
    await store.write('bo', [{ key: 'a/0', value: bytes('') }], { token: 1 });
    await store.write('box.', [{ key: 'a/0', value: bytes('') }], { token: 1 });
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = store.list('box', { prefix: 'a/', after, limit: 2 });
      seen.push(...page.keys.map(({ key }) => key));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(['a/1', 'a/2', 'a/z', 'a/é', 'a/😀']);
    expect(store.list('box').keys).toHaveLength(keys.length);
  });
});

describe('the data', () => {
  it('of another format is refused rather than misread', async () => {
    map.apply({ key: Uint8Array.of(1), value: Uint8Array.of(9) });
    await expect(FencedStore.open(memoryEngine(map))).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
  });

  it('of the first version is read as it is, and is of this version from then on', async () => {
    await store.write('a', [{ key: 'k', value: bytes('v') }], { token: 57 });
    const record = map.get(Uint8Array.of(2, 0x61));
    expect([record?.length, record?.[0]]).toEqual([34, 1]); // what the first version wrote
    map.apply({ key: Uint8Array.of(1), value: Uint8Array.of(1) });
    const reopened = await FencedStore.open(memoryEngine(map));
    expect(text(reopened.get('a', 'k', { token: 57 }).value)).toBe('v');
    // The first version refuses what it could misread: "start the version that wrote it".
    expect([...(map.get(Uint8Array.of(1)) ?? [])]).toEqual([3]);
  });

  it('with a record that it cannot read is damaged, wherever the record was cut or altered', async () => {
    await store.create('a', { lock: 'jobs/é' });
    const whole = map.get(Uint8Array.of(2, 0x61)) ?? new Uint8Array(0);
    const altered = (change: (record: Uint8Array) => void): Uint8Array => {
      const record = Uint8Array.from(whole);
      change(record);
      return record;
    };
    const records = [
      ...Array.from({ length: whole.length }, (_, length) => whole.slice(0, length)).filter(
        ({ length }) => length !== 34, // without its field it is a record
      ),
      altered((record) => (record[0] = 3)),
      altered((record) => (record[34] = 200)), // a field of a later version
      altered((record) => record.fill(0xff, 37)), // not UTF-8
    ];
    for (const record of records) {
      map.apply({ key: Uint8Array.of(2, 0x61), value: record });
      expect(() => store.info('a')).toThrow('the record of bucket "a" cannot be read');
    }
    map.apply({ key: Uint8Array.of(2, 0x61), value: whole });
    expect(store.info('a').lock).toBe('jobs/é');
  });

  it('after a failed disk is neither written nor read until a restart', async () => {
    const engine = memoryEngine(map);
    const failing = await FencedStore.open(engine);
    engine.failNext();
    const write = failing.write('a', [{ key: 'k', value: bytes('v') }], { token: 1 });
    await expect(write).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: true });
    await expect(failing.install('a', 2)).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: false });
    expect(() => failing.assertServing()).toThrow(EngineError);
  });
});

type Step =
  | {
      readonly kind: 'put' | 'delete';
      readonly key: string;
      readonly token: number | undefined;
      /** The condition: the key must exist, must not, or none. */
      readonly exists: boolean | undefined;
    }
  | { readonly kind: 'install'; readonly token: number }
  | { readonly kind: 'restart' };

const token = fc.integer({ min: 1, max: 12 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('put' as const, 'delete' as const),
    key: fc.constantFrom('x', 'y', 'z'),
    token: fc.option(token, { nil: undefined, freq: 6 }),
    exists: fc.option(fc.boolean(), { nil: undefined, freq: 2 }),
  }),
  fc.record({ kind: fc.constant('install' as const), token }),
  fc.record({ kind: fc.constant('restart' as const) }),
);

describe('any history of writes, installs and restarts', () => {
  it('accepts no token below the highest before it, and otherwise behaves as a map', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const data = new SortedMap();
        let subject = await FencedStore.open(memoryEngine(data));
        const model = new Map<string, string>();
        let highest = 0;
        for (const [index, next] of steps.entries()) {
          if (next.kind === 'restart') {
            await subject.close();
            subject = await FencedStore.open(memoryEngine(data));
            continue;
          }
          const value = next.kind === 'put' ? bytes(String(index)) : undefined;
          const exists = next.kind === 'install' ? undefined : next.exists;
          const conditions = exists === undefined ? [] : [{ kind: exists ? ('exists' as const) : ('absent' as const) }];
          const holds = next.kind === 'install' || exists === undefined || exists === model.has(next.key);
          const refusal = await refusalOf(() =>
            next.kind === 'install'
              ? subject.install('b', next.token)
              : subject.write('b', [{ key: next.key, value, conditions }], { token: next.token }),
          );
          const passed = next.token !== undefined && next.token >= highest;
          expect(refusal === undefined).toBe(passed && holds);
          if (!passed) continue;
          // Whether or not the condition held.
          highest = next.token;
          expect(refusal?.code).toBe(holds ? undefined : 'PRECONDITION_FAILED');
          if (!holds) {
            expect(subject.info('b')).toMatchObject({ highest, keys: model.size });
            continue;
          }
          if (next.kind === 'put') model.set(next.key, String(index));
          if (next.kind === 'delete') model.delete(next.key);
          const info = subject.info('b');
          expect(info).toMatchObject({ highest, keys: model.size });
          expect(info.bytes).toBe([...model].reduce((sum, [key, found]) => sum + key.length + found.length, 0));
          const listed = subject.list('b').keys.map(({ key }) => [key, text(subject.get('b', key).value)]);
          expect(new Map(listed as [string, string][])).toEqual(model);
        }
      }),
      { numRuns: 150 },
    );
  });
});
