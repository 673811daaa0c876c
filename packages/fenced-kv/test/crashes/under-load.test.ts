/**
 * Several lives of one store, each ended by a power failure or a kill in the middle of work that goes on at once: batches, values in
 * chunks, keys that expire and their removal, a follower. The clients keep book of what they have sent and what was acknowledged.
 */

import { SimWorld } from '@holdfast/runtime/sim';
import type { SimHost } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import type { Engine } from '../../src/engines/engine.ts';
import { openJournalEngine } from '../../src/engines/journal-engine.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { Follower } from '../support/follower.ts';

const DATA = '/data/fenced-kv';
const LIVES = 5;
const SEEDS = 25;
const LONG_MS = 10_000_000;

/** Numbers that were written, by key: the last that was sent, and the last that was acknowledged. */
interface Book {
  readonly sent: Map<string, number>;
  readonly acknowledged: Map<string, number>;
}

const valueOf = (number: number, length = 200): Uint8Array => new TextEncoder().encode(String(number).padStart(length));
/** Beyond what lies in the record of its key. */
const LONG_BYTES = 1_500;

const PAIR = ['pair 1', 'pair 2'];

class Clients {
  readonly book: Book = { sent: new Map(), acknowledged: new Map() };
  readonly follower = new Follower();
  readonly violations: string[] = [];
  #number = 0;

  /** Begins work that ends with the process. */
  begin(store: FencedStore, host: SimHost): void {
    const forEver = async (work: () => Promise<void>): Promise<void> => {
      for (;;) await work();
    };
    const all = [
      async () => await this.#write(PAIR, (value) => store.write('b', this.#puts(PAIR, value), { token: 1 })),
      async () =>
        await this.#write(
          ['long'],
          (value) => store.write('b', this.#puts(['long'], value, LONG_MS), { token: 1 }),
          LONG_BYTES,
        ),
      async () => await this.#writeShort(store),
      async () => await this.#write(['large'], async (value) => await this.#putLarge(store, value)),
      async () => {
        await new Promise<void>((resolve) => {
          host.runtime.clock.setTimer(7, resolve);
        });
        await store.removeExpired();
      },
    ];
    for (const work of all) {
      forEver(work).catch((error: unknown) => this.violations.push(String(error)));
    }
  }

  #puts(
    keys: readonly string[],
    value: Uint8Array,
    ttlMs?: number,
  ): { key: string; value: Uint8Array; ttlMs?: number }[] {
    return keys.map((key) => ({ key, value, ...(ttlMs === undefined ? {} : { ttlMs }) }));
  }

  async #write(keys: readonly string[], work: (value: Uint8Array) => Promise<unknown>, length?: number): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    for (const key of keys) this.book.sent.set(key, number);
    await work(valueOf(number, length));
    for (const key of keys) this.book.acknowledged.set(key, number);
  }

  /** A new key each time, which is soon over. */
  async #writeShort(store: FencedStore): Promise<void> {
    this.#number += 1;
    await store.write('b', this.#puts([`short ${this.#number}`], valueOf(this.#number), 5), { token: 1 });
  }

  async #putLarge(store: FencedStore, value: Uint8Array): Promise<void> {
    const upload = store.upload('b', { token: 1 });
    await upload.append(value);
    await store.write('b', [{ key: 'large', value: upload.value }], { token: 1 });
    await upload.used();
  }

  /** After a restart, before anything goes on. */
  check(store: FencedStore, engine: Engine): void {
    const found = new Map<string, number>();
    for (const { key, expiresInMs } of store.list('b', { limit: 1_000 }).keys) {
      found.set(key, Number(new TextDecoder().decode(store.get('b', key).value)));
      if (key.startsWith('short') && !(expiresInMs !== undefined && expiresInMs <= 5)) {
        this.violations.push(`${key} lives for ${expiresInMs} ms`);
      }
    }
    for (const key of [...PAIR, 'long', 'large']) {
      const [number = 0, least = 0, most = 0] = [found, this.book.acknowledged, this.book.sent].map((map) =>
        map.get(key),
      );
      if (number < least || number > most) {
        this.violations.push(`${key} is ${number}, acknowledged ${least}, sent ${most}`);
      }
    }
    if (found.get('pair 1') !== found.get('pair 2')) this.violations.push('half a batch');
    this.#checkSums(store, engine);
    const { revision } = store.info('b');
    const known = this.follower.last;
    if (known > revision) this.violations.push(`${known} was told, and ${revision} is there`);
    if (this.follower.follow(store, revision) !== (known === revision)) {
      this.violations.push(`a follower that knew ${known} was let in at ${revision}, or not at all`);
    }
  }

  #checkSums(store: FencedStore, engine: Engine): void {
    const count = (space: number): number => {
      const range = { from: Uint8Array.of(space), to: Uint8Array.of(space + 1), limit: 10_000 };
      return engine.read((reader) => reader.range(range)).length;
    };
    const { keys } = store.info('b');
    const large = store.list('b', { prefix: 'large' }).keys.length;
    const expiring = store.list('b', { prefix: 'long' }).keys.length;
    const [records, values, chunks, loose, times] = [3, 4, 5, 7, 8].map(count);
    // Each key has a record with its value, or a value apart, or chunks; what nobody has is gone after a start.
    if (records !== keys || values !== expiring)
      this.violations.push(`${records} records of ${keys} keys, ${values} values apart`);
    if (chunks !== large || loose !== 0) this.violations.push(`${chunks} chunks of ${large} values, ${loose} loose`);
    const pairs = found(store, PAIR);
    if (times !== keys - large - pairs || expiring > 1) this.violations.push(`${times} keys expire, of ${keys}`);
  }
}

function found(store: FencedStore, keys: readonly string[]): number {
  return keys.filter((key) => store.list('b', { prefix: key }).keys.length > 0).length;
}

async function live(seed: number): Promise<string[]> {
  const world = new SimWorld({ seed });
  const host = world.host('kv');
  const draw = world.random('lives');
  const clients = new Clients();
  for (let life = 0; life < LIVES; life += 1) {
    const start = async (): Promise<void> => {
      const engine = await openJournalEngine(DATA, { disk: host.runtime.disk, rewriteMinBytes: 4_000 });
      const store = await FencedStore.open(engine, { clock: host.runtime.clock });
      if (life === 0) await store.install('b', 1);
      clients.check(store, engine);
      clients.begin(store, host);
    };
    await world.complete(start());
    const endMs = world.nowMs + 20 + draw.next() * 80;
    await world.run({ until: () => world.nowMs >= endMs });
    if (draw.integer(3) === 0) host.kill();
    else host.crash({ tear: (['none', 'all', 'random'] as const)[draw.integer(3)] ?? 'random' });
    host.restart();
  }
  const { violations, follower, book } = clients;
  const least = Math.min(...[...PAIR, 'long', 'large'].map((key) => book.acknowledged.get(key) ?? 0));
  if (least < 10) violations.push('hardly anything was written');
  const expired = follower.told.filter(({ changes }) => changes[0]?.type === 'expired').length;
  if (expired === 0 || follower.told.length < 50)
    violations.push(`${follower.told.length} revisions told, ${expired} removals`);
  return [...violations, ...follower.violations].map((violation) => `seed ${seed}: ${violation}`);
}

describe('a store that is ended again and again while all of it is at work', () => {
  it('has every acknowledged write, each batch whole, nothing left over, and skips and repeats no change', async () => {
    const violations: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) violations.push(...(await live(seed)));
    expect(violations).toEqual([]);
  });
});
