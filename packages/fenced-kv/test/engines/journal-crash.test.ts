import type { Disk, DiskFile } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { JOURNAL_NAME, openJournalEngine } from '../../src/engines/journal-engine.ts';
import { RefusedError } from '../../src/refusal.ts';
import { describeEngine } from './engine-conformance.ts';
import { refusalOf } from '../support/refusal-of.ts';

const DATA = '/data/fenced-kv';
const WRITERS = 5;
const LIVES = 6;

describeEngine('the journal on a simulated disk', async (test) => {
  const world = new SimWorld({ seed: 'conformance' });
  const { disk } = world.host('kv').runtime;
  await world.complete(test(async () => await openJournalEngine(DATA, { disk, rewriteMinBytes: 20_000 })));
});

/** What the clients know: for each writer the last number acknowledged and the last one sent, and the same of tokens. */
interface Ledger {
  readonly acknowledged: number[];
  readonly sent: number[];
  acknowledgedToken: number;
  sentToken: number;
}

async function write(store: FencedStore, writer: number, ledger: Ledger): Promise<void> {
  for (;;) {
    const number = (ledger.sent[writer] ?? 0) + 1;
    ledger.sent[writer] = number;
    const token = (ledger.sentToken += 1);
    const value = new TextEncoder().encode(String(number).padEnd(300));
    // The token of every third counts although its condition fails: that answer, too, promises that it is installed.
    const fails = number % 3 === 0;
    const conditions = fails ? [{ kind: 'revision-in' as const, revisions: [] }] : [];
    const refusal = await refusalOf(() => store.write('b', [{ key: `k${writer}`, value, conditions }], { token }));
    if (refusal !== undefined && !fails) throw new RefusedError(refusal);
    if (!fails) ledger.acknowledged[writer] = number;
    ledger.acknowledgedToken = Math.max(ledger.acknowledgedToken, token);
  }
}

/** A bucket that was never created, or that was lost, has no token and no keys. */
function infoOf(store: FencedStore): { readonly highest: number; readonly keys: number } {
  try {
    return store.info('b');
  } catch (error) {
    if (error instanceof RefusedError) return { highest: 0, keys: 0 };
    throw error;
  }
}

function check(store: FencedStore, ledger: Ledger): string[] {
  const violations: string[] = [];
  const { highest, keys } = infoOf(store);
  if (highest < ledger.acknowledgedToken || highest > ledger.sentToken) {
    violations.push(`highest ${highest}, acknowledged ${ledger.acknowledgedToken}, sent ${ledger.sentToken}`);
  }
  const listed = highest === 0 ? [] : store.list('b').keys;
  const text = (key: string): string => new TextDecoder().decode(store.get('b', key).value);
  const found = new Map(listed.map(({ key }) => [key, Number(text(key))]));
  if (found.size !== keys) violations.push(`${found.size} keys, counted ${keys}`);
  for (let writer = 0; writer < WRITERS; writer += 1) {
    const number = found.get(`k${writer}`) ?? 0;
    const least = ledger.acknowledged[writer] ?? 0;
    const most = ledger.sent[writer] ?? 0;
    if (number < least || number > most)
      violations.push(`k${writer} is ${number}, acknowledged ${least}, sent ${most}`);
  }
  return violations;
}

/** Several lives of one store, each ended by a power failure in the middle of writing. Returns what went wrong. */
async function live(seed: number, change: (disk: Disk) => Disk = (disk) => disk): Promise<string[]> {
  const world = new SimWorld({ seed });
  const host = world.host('kv');
  const draw = world.random('lives');
  const ledger: Ledger = { acknowledged: [], sent: [], acknowledgedToken: 0, sentToken: 0 };
  const violations: string[] = [];
  for (let life = 0; life < LIVES; life += 1) {
    try {
      const disk = change(host.runtime.disk);
      const open = async (): Promise<FencedStore> =>
        await FencedStore.open(await openJournalEngine(DATA, { disk, rewriteMinBytes: 3_000 }));
      const store = await world.complete(open());
      if (life === 0) await world.complete(store.install('b', (ledger.sentToken += 1)));
      violations.push(...check(store, ledger));
      for (let writer = 0; writer < WRITERS; writer += 1) void write(store, writer, ledger);
      const endMs = world.nowMs + 5 + draw.next() * 60;
      await world.run({ until: () => world.nowMs >= endMs });
    } catch (error) {
      return [...violations, String(error)];
    }
    host.crash({ tear: (['none', 'all', 'random', 'random'] as const)[draw.integer(4)] ?? 'random' });
    host.restart();
  }
  if (Math.min(...ledger.acknowledged) < 10) violations.push('hardly anything was written');
  return violations;
}

async function liveWith(seeds: number, change?: (disk: Disk) => Disk): Promise<string[]> {
  const violations: string[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    for (const violation of await live(seed, change)) violations.push(`seed ${seed}: ${violation}`);
  }
  return violations;
}

describe('a store on a journal whose power fails again and again', () => {
  it('keeps every acknowledged write and the highest token, and takes up no write that was not sent', async () => {
    expect(await liveWith(30)).toEqual([]);
  });

  it('would lose them without the sync of a commit', async () => {
    const violations = await liveWith(3, (disk) => ({
      ...disk,
      async open(path, mode) {
        const file = await disk.open(path, mode);
        const unsynced: DiskFile = {
          path,
          append: async (position, buffers) => await file.write(position, Buffer.concat(buffers)),
          write: async (position, bytes) => await file.write(position, bytes),
          sync: async () => await file.sync(),
          read: async (position, length) => await file.read(position, length),
          truncate: async (length) => await file.truncate(length),
          size: async () => await file.size(),
          close: async () => await file.close(),
        };
        return unsynced;
      },
    }));
    expect(violations.join('\n')).toContain('acknowledged');
  });

  it('would lose them without the sync of the directory', async () => {
    const violations = await liveWith(3, (disk) => ({ ...disk, async syncDirectory() {} }));
    expect(violations.join('\n')).toContain('acknowledged');
  });
});

describe('a store on a journal with one bit changed', () => {
  it('says that the data is damaged', async () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('kv');
    const { disk } = host.runtime;
    const store = await world.complete((async () => await FencedStore.open(await openJournalEngine(DATA, { disk })))());
    await world.complete(store.install('b', 41));
    await world.complete(store.install('b', 57));
    await world.complete(store.close());
    host.disk.flipBit(`${DATA}/${JOURNAL_NAME}`, 60);
    await expect(world.complete(openJournalEngine(DATA, { disk }))).rejects.toMatchObject({ code: 'DAMAGED_DATA' });
  });
});

describe('a store on a disk that is full', () => {
  it('stops at the first write that does not fit, and has all before it after a restart', async () => {
    const world = new SimWorld({ seed: 1 });
    const host = world.host('kv');
    const { disk } = host.runtime;
    const failures: Error[] = [];
    const engine = await world.complete(openJournalEngine(DATA, { disk, onFailure: (error) => failures.push(error) }));
    const store = await world.complete(FencedStore.open(engine));
    await world.complete(store.install('b', 57));
    host.disk.setFreeBytes(100);
    await expect(
      world.complete(store.write('b', [{ key: 'k', value: new Uint8Array(1_000) }], { token: 58 })),
    ).rejects.toMatchObject({
      code: 'DISK_ERROR',
      indeterminate: true,
    });
    expect(failures).toHaveLength(1);
    host.crash({ tear: 'random' });
    host.restart();
    host.disk.setFreeBytes(1_000_000);
    const again = await world.complete(
      (async () => await FencedStore.open(await openJournalEngine(DATA, { disk: host.runtime.disk })))(),
    );
    expect(again.info('b').highest).toBe(57);
  });
});

describe('a journal that a start has found', () => {
  it.each(['killed in the midst of an append', 'ended by a failed append'])(
    'is kept over a power failure when the process before was %s',
    async (how) => {
      const world = new SimWorld({ seed: how });
      const host = world.host('kv');
      const open = async (): Promise<FencedStore> =>
        await FencedStore.open(await openJournalEngine(DATA, { disk: host.runtime.disk }));
      const first = await world.complete(open());
      await world.complete(first.install('b', 1));
      if (how.startsWith('ended')) host.disk.failNext('append', 'IO');
      const last = first.install('b', 2).then(
        () => {},
        () => {},
      );
      if (how.startsWith('ended')) await world.complete(last);
      // The append has begun when its promise has run that far.
      else await world.run({ forMs: 0 });
      host.kill();
      host.restart();
      const { highest } = infoOf(await world.complete(open()));
      expect(highest).toBe(2);
      host.crash();
      host.restart();
      expect(infoOf(await world.complete(open())).highest).toBe(2);
    },
  );
});
