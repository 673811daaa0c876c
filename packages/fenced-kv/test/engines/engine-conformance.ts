/** What every engine promises, as tests that each of them runs. */

import { describe, expect, it } from 'vitest';

import type { Engine, Reader } from '../../src/engines/engine.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { refusalOf } from '../support/refusal-of.ts';

/**
 * Runs a test in a world of its own (a simulated disk needs its clock driven). `open` opens the engine on that world's data:
 * again, after a `close`.
 */
export type InWorld = (test: (open: () => Promise<Engine>) => Promise<void>) => Promise<void>;

const EVERYTHING = { from: Uint8Array.of(0), to: Uint8Array.of(0xff), limit: 1_000 };

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

function dump(engine: Engine): [string, string][] {
  return engine.read((reader) =>
    reader.range(EVERYTHING).map(({ key, value }) => [text(key) ?? '', text(value) ?? '']),
  );
}

const get = (engine: Engine, key: string): string | undefined =>
  engine.read((reader: Reader) => text(reader.get(bytes(key))));

async function put(engine: Engine, key: string, value: string): Promise<void> {
  await engine.commit((transaction) => transaction.put(bytes(key), bytes(value)));
}

export function describeEngine(name: string, inWorld: InWorld): void {
  describe(`${name}: a commit`, () => {
    it('is read by everything after it', async () =>
      await inWorld(async (open) => {
        const engine = await open();
        expect(dump(engine)).toEqual([]);
        await put(engine, 'a', '1');
        expect(get(engine, 'a')).toBe('1');
        await engine.commit((transaction) => {
          transaction.put(bytes('b'), bytes('2'));
          transaction.delete(bytes('a'));
          transaction.delete(bytes('none'));
        });
        expect(dump(engine)).toEqual([['b', '2']]);
        await engine.close();
      }));

    it('is counted when it has come to its end, whatever that is', async () =>
      await inWorld(async (open) => {
        const engine = await open();
        await put(engine, 'a', '1');
        const refused = engine.commit(() => {
          throw new Error('refused');
        });
        await expect(refused).rejects.toThrow('refused');
        const { groups, ...others } = engine.figures;
        expect(others).toEqual({ commits: 2, waiting: 0 });
        // What writes nothing may be a group of its own.
        expect([1, 2]).toContain(groups);
        await engine.close();
      }));

    it('has empty values, however they were made, and still has them after a restart', async () =>
      await inWorld(async (open) => {
        const made = {
          array: new Uint8Array(0),
          // These two have no memory.
          text: bytes(''),
          body: new Uint8Array(await new Response('').arrayBuffer()),
          part: bytes('abc').subarray(1, 1),
        };
        let engine = await open();
        for (const [key, value] of Object.entries(made)) {
          await engine.commit((transaction) => transaction.put(bytes(key), value));
          expect(get(engine, key)).toBe('');
        }
        await engine.close();
        engine = await open();
        expect(dump(engine)).toEqual(['array', 'body', 'part', 'text'].map((key) => [key, '']));
        await engine.close();
      }));

    it('reads its own writes, and those of the commits before it', async () =>
      await inWorld(async (open) => {
        const engine = await open();
        const first = engine.commit((transaction) => {
          transaction.put(bytes('a'), bytes('1'));
          const own = text(transaction.get(bytes('a')));
          transaction.delete(bytes('a'));
          return [own, transaction.get(bytes('a'))];
        });
        const second = engine.commit((transaction) => {
          const seen = transaction.get(bytes('a'));
          transaction.put(bytes('a'), bytes('2'));
          return seen;
        });
        expect(await first).toEqual(['1', undefined]);
        expect(await second).toBeUndefined();
        expect(get(engine, 'a')).toBe('2');
        await engine.close();
      }));

    it('that throws writes nothing, and spoils no other', async () =>
      await inWorld(async (open) => {
        const engine = await open();
        const outcomes = await Promise.allSettled([
          put(engine, 'a', '1'),
          engine.commit((transaction) => {
            transaction.put(bytes('a'), bytes('spoilt'));
            throw new Error('refused');
          }),
          put(engine, 'b', '2'),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
        expect(dump(engine)).toEqual([
          ['a', '1'],
          ['b', '2'],
        ]);
        await engine.close();
      }));

    it('loses no increment among many at once', async () =>
      await inWorld(async (open) => {
        const engine = await open();
        const increment = async (): Promise<void> =>
          await engine.commit((transaction) => {
            transaction.put(bytes('n'), bytes(String(Number(text(transaction.get(bytes('n'))) ?? 0) + 1)));
          });
        for (let round = 0; round < 5; round += 1) await Promise.all(Array.from({ length: 50 }, increment));
        expect(get(engine, 'n')).toBe('250');
        await engine.close();
      }));
  });

  describe(`${name}: a range`, () => {
    it("is in the order of the keys' bytes, from and to and limit obeyed", async () =>
      await inWorld(async (open) => {
        const engine = await open();
        const keys = [[1], [1, 0], [1, 0, 255], [1, 1], [1, 200], [2], [254, 255]];
        await Promise.all(
          keys
            .toReversed()
            .map(
              async (key) => await engine.commit((transaction) => transaction.put(Uint8Array.from(key), bytes('v'))),
            ),
        );
        const range = (from: number[], to: number[], limit: number): number[][] =>
          engine.read((reader) =>
            reader.range({ from: Uint8Array.from(from), to: Uint8Array.from(to), limit }).map(({ key }) => [...key]),
          );
        expect(range([0], [255], 100)).toEqual(keys);
        expect(range([1, 0], [1, 200], 100)).toEqual(keys.slice(1, 4));
        expect(range([1, 0, 0], [2], 2)).toEqual(keys.slice(2, 4));
        expect(range([3], [4], 100)).toEqual([]);
        expect(range([0], [255], 0)).toEqual([]);
        await engine.close();
      }));
  });

  describe(`${name}: a restart`, () => {
    it('keeps every key and value, of every size', async () =>
      await inWorld(async (open) => {
        let engine = await open();
        const sizes = [0, 1, 511, 512, 4_096, 65_536, 1_048_576];
        await engine.commit((transaction) => {
          for (const size of sizes) transaction.put(bytes(`size-${size}`), new Uint8Array(size).fill(size % 251));
          transaction.put(new Uint8Array(644).fill(7), bytes('long key'));
        });
        for (let round = 0; round < 2; round += 1) {
          await engine.close();
          engine = await open();
          for (const size of sizes) {
            const value = engine.read((reader) => reader.get(bytes(`size-${size}`)));
            expect(Buffer.compare(value ?? bytes('missing'), new Uint8Array(size).fill(size % 251))).toBe(0);
          }
          expect(text(engine.read((reader) => reader.get(new Uint8Array(644).fill(7))))).toBe('long key');
        }
        await engine.close();
      }));

    it('finds what many commits left, overwritten and deleted keys included', async () =>
      await inWorld(async (open) => {
        let engine = await open();
        const model = new Map<string, string>();
        for (let round = 0; round < 12; round += 1) {
          const commits = Array.from({ length: 20 }, async (_, index) => {
            const key = `k${(round * 7 + index * 3) % 40}`;
            const value = (round + index) % 4 === 0 ? undefined : `${round}:${index}`;
            await engine.commit((transaction) => {
              if (value === undefined) transaction.delete(bytes(key));
              else transaction.put(bytes(key), bytes(value));
              if (value === undefined) model.delete(key);
              else model.set(key, value);
            });
          });
          await Promise.all(commits);
          if (round % 4 === 3) {
            await engine.close();
            engine = await open();
          }
          expect(new Map(dump(engine))).toEqual(model);
        }
        await engine.close();
      }));

    it("keeps a bucket's data and its highest token", async () =>
      await inWorld(async (open) => {
        let store = await FencedStore.open(await open());
        await store.write('accounts', [{ key: '42', value: bytes('old') }], { token: 41 });
        await store.install('accounts', 57);
        await store.close();
        store = await FencedStore.open(await open());
        expect(store.info('accounts').highest).toBe(57);
        const late = [{ key: '42', value: bytes('late') }];
        expect(await refusalOf(() => store.write('accounts', late, { token: 56 }))).toEqual({
          code: 'STALE_TOKEN',
          presented: 56,
          highest: 57,
        });
        expect(text(store.get('accounts', '42', { token: 57 }).value)).toBe('old');
        await store.close();
      }));

    it('keeps the newer token of a write whose condition failed', async () =>
      await inWorld(async (open) => {
        let store = await FencedStore.open(await open());
        await store.install('accounts', 41);
        const write = { key: '42', value: bytes('v'), conditions: [{ kind: 'exists' as const }] };
        expect(await refusalOf(() => store.write('accounts', [write], { token: 57 }))).toMatchObject({
          code: 'PRECONDITION_FAILED',
        });
        await store.close();
        store = await FencedStore.open(await open());
        expect(store.info('accounts')).toMatchObject({ highest: 57, keys: 0 });
        await store.close();
      }));
  });

  describe(`${name}: a closed engine`, () => {
    it('has finished the commits that were asked for, and takes no more', async () =>
      await inWorld(async (open) => {
        const engine = await open();
        const last = put(engine, 'a', '1');
        await engine.close();
        await last;
        expect(() => dump(engine)).toThrow(expect.objectContaining({ code: 'CLOSED' }));
        await expect(put(engine, 'b', '2')).rejects.toMatchObject({ code: 'CLOSED' });
        const again = await open();
        expect(dump(again)).toEqual([['a', '1']]);
        await again.close();
      }));
  });
}
