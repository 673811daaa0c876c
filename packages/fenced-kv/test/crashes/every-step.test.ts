/**
 * A script of everything that a bucket can have done to it, and the end of the process at every step of its disk. No sampling: what is found
 * then is the state after the last step that was acknowledged, or after the one that was under way. Who follows the bucket is told each
 * revision once, or that it has missed something.
 */

import type { Disk, DiskFile } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import type { SimHost } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import type { Change } from '../../src/changes/revision.ts';
import { openJournalEngine } from '../../src/engines/journal-engine.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { VALUE_CHUNK_BYTES } from '../../src/limits.ts';
import { RefusedError } from '../../src/refusal.ts';
import { CrashPoints, ENDS } from '../support/crash-points.ts';
import type { CrashPoint } from '../support/crash-points.ts';
import { Follower } from '../support/follower.ts';
import { refusalOf } from '../support/refusal-of.ts';

const DATA = '/data/fenced-kv';
const SHORT_MS = 2_000;
const LONG_MS = 600_000;
const PASS_MS = 3_000;
const LARGE_BYTES = VALUE_CHUNK_BYTES + 10;

interface ModelKey {
  /** The byte that fills the value, and how many there are. */
  readonly fill: number;
  readonly bytes: number;
  readonly revision: number;
  readonly ttlMs?: number;
}

interface Model {
  readonly highest: number;
  readonly revision: number;
  readonly keys: Readonly<Record<string, ModelKey>>;
  /** By revision, from 1. */
  readonly changes: readonly (readonly Change[])[];
  /** Keys with the short time to live are absent, removed or not. */
  readonly passed: boolean;
  readonly largeChunks: number;
}

const EMPTY: Model = { highest: 0, revision: 0, keys: {}, changes: [], passed: false, largeChunks: 0 };

interface Step {
  act(store: FencedStore, host: SimHost): Promise<void>;
  after(model: Model): Model;
}

const valueOf = (fill: number, bytes: number): Uint8Array => new Uint8Array(bytes).fill(fill);

interface Put {
  readonly key: string;
  readonly fill: number;
  readonly bytes: number;
  readonly ttlMs?: number;
}

const changesOf = (puts: readonly Put[], deleted: readonly string[]): Change[] => [
  ...puts.map(({ key, bytes }) => ({ type: 'put' as const, key, bytes })),
  ...deleted.map((key) => ({ type: 'delete' as const, key })),
];

/** One write of some keys, under a token. */
function batch(token: number, puts: readonly Put[], deleted: readonly string[] = []): Step {
  return {
    async act(store) {
      const writes = puts.map(({ key, fill, bytes, ttlMs }) => ({ key, value: valueOf(fill, bytes), ttlMs }));
      await store.write('b', [...writes, ...deleted.map((key) => ({ key, value: undefined }))], { token });
    },
    after(model) {
      const revision = model.revision + 1;
      const kept = Object.entries(model.keys).filter(([key]) => !deleted.includes(key));
      const written = puts.map(({ key, ...rest }) => [key, { ...rest, revision }] as const);
      const largeChunks = deleted.includes('big') ? 0 : model.largeChunks;
      const keys = Object.fromEntries([...kept, ...written]);
      const changes = [...model.changes, changesOf(puts, deleted)];
      return { ...model, highest: token, revision, keys, changes, largeChunks };
    },
  };
}

/** A value in chunks becomes that of the key `big`. */
function putLarge(token: number, fill: number, bytes: number): Step {
  return {
    async act(store) {
      const upload = store.upload('b', { token });
      for (let at = 0; at < bytes; at += VALUE_CHUNK_BYTES) {
        await upload.append(valueOf(fill, Math.min(VALUE_CHUNK_BYTES, bytes - at)));
      }
      await store.write('b', [{ key: 'big', value: upload.value }], { token });
      await upload.used();
    },
    after(model) {
      const written = batch(token, [{ key: 'big', fill, bytes }]).after(model);
      return { ...written, largeChunks: Math.ceil(bytes / VALUE_CHUNK_BYTES) };
    },
  };
}

const install = (token: number): Step => ({
  act: async (store) => void (await store.install('b', token)),
  after: (model) => ({ ...model, highest: token }),
});

/** Its condition does not hold; the token counts. */
const failingWrite = (token: number): Step => ({
  async act(store) {
    const conditions = [{ kind: 'revision-in' as const, revisions: [999] }];
    const refusal = await refusalOf(() =>
      store.write('b', [{ key: 'a', value: valueOf(0, 1), conditions }], { token }),
    );
    if (refusal?.code !== 'PRECONDITION_FAILED') throw new Error(JSON.stringify(refusal));
  },
  after: (model) => ({ ...model, highest: token }),
});

const timePasses: Step = {
  act: async (_store, { runtime }) =>
    await new Promise((resolve) => {
      runtime.clock.setTimer(PASS_MS, resolve);
    }),
  after: (model) => ({ ...model, passed: true }),
};

const removeExpired: Step = {
  act: async (store) => void (await store.removeExpired()),
  after(model) {
    const expired = Object.keys(model.keys).filter((key) => model.keys[key]?.ttlMs === SHORT_MS);
    const keys = Object.fromEntries(Object.entries(model.keys).filter(([key]) => !expired.includes(key)));
    const changes = [...model.changes, expired.map((key) => ({ type: 'expired' as const, key }))];
    return { ...model, revision: model.revision + 1, keys, changes };
  },
};

const abandonedUpload: Step = {
  async act(store) {
    const upload = store.upload('b', { token: 99 });
    await upload.append(valueOf(9, 100));
    await upload.abandon();
  },
  after: (model) => model,
};

const SCRIPT: readonly Step[] = [
  install(10),
  batch(11, [
    { key: 'a', fill: 1, bytes: 500 },
    { key: 'b', fill: 2, bytes: 700, ttlMs: LONG_MS },
  ]),
  batch(11, [
    { key: 'short 1', fill: 3, bytes: 900, ttlMs: SHORT_MS },
    { key: 'short 2', fill: 4, bytes: 0, ttlMs: SHORT_MS },
  ]),
  putLarge(12, 5, LARGE_BYTES),
  failingWrite(13),
  putLarge(13, 6, 300),
  batch(14, [{ key: 'b', fill: 7, bytes: 20 }], ['a']),
  timePasses,
  removeExpired,
  abandonedUpload,
  putLarge(15, 8, 400),
  batch(16, [{ key: 'c', fill: 9, bytes: 3_000 }], ['big']),
  batch(16, [{ key: 'c', fill: 10, bytes: 3_000 }]),
];

/** The state after each step, that of none first. */
const MODELS: readonly Model[] = SCRIPT.reduce<Model[]>(
  (all, step) => [...all, step.after(all.at(-1) ?? EMPTY)],
  [EMPTY],
);

const modelAfter = (step: number): Model => MODELS[step] ?? EMPTY;

interface Place {
  readonly engine: Engine;
  readonly store: FencedStore;
}

async function open(host: SimHost, disk: Disk): Promise<Place> {
  const engine = await openJournalEngine(DATA, { disk, rewriteMinBytes: 3_000 });
  return { engine, store: await FencedStore.open(engine, { clock: host.runtime.clock }) };
}

/** What can be seen of the store, in the words of the model. */
function found({
  engine,
  store,
}: Place): Pick<Model, 'highest' | 'revision' | 'keys'> & { readonly sums: readonly number[] } {
  const count = (space: number): number =>
    engine.read((reader) => reader.range({ from: Uint8Array.of(space), to: Uint8Array.of(space + 1), limit: 1_000 }))
      .length;
  // Records of keys, chunks, loose values, and times at which keys expire.
  const counts = [count(3), count(5), count(7), count(8)];
  try {
    const { highest, revision, keys, bytes } = store.info('b');
    const listed = store.list('b').keys.map(({ key, revision: written, expiresInMs }) => {
      const { value } = store.get('b', key);
      const fill = value[0] ?? 0;
      if (value.some((byte) => byte !== fill)) throw new Error(`${key} is not whole`);
      const ttlMs = expiresInMs === undefined ? {} : { ttlMs: expiresInMs > SHORT_MS ? LONG_MS : SHORT_MS };
      return [key, { fill, bytes: value.length, revision: written, ...ttlMs }] as const;
    });
    return { highest, revision, keys: Object.fromEntries(listed), sums: [keys, bytes, ...counts] };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { highest: 0, revision: 0, keys: {}, sums: [0, 0, ...counts] };
  }
}

/** What is to be seen of a model. */
function expected({ highest, revision, keys, passed, largeChunks }: Model): ReturnType<typeof found> {
  const all = Object.entries(keys);
  const seen = all.filter(([, { ttlMs }]) => !(passed && ttlMs === SHORT_MS));
  const bytes = all.reduce((sum, [key, value]) => sum + key.length + value.bytes, 0);
  const expiring = all.filter(([, { ttlMs }]) => ttlMs !== undefined).length;
  // Of an empty value no byte says what it is filled with.
  const described = seen.map(([key, value]) => [key, value.bytes === 0 ? { ...value, fill: 0 } : value] as const);
  return {
    highest,
    revision,
    keys: Object.fromEntries(described),
    sums: [all.length, bytes, all.length, largeChunks, 0, expiring],
  };
}

interface Run {
  readonly steps: number;
  readonly violations: readonly string[];
}

/** Runs the script up to the crash, looks at what is left, goes on with it to the end, and looks again. */
async function runWith(point?: CrashPoint, change: (disk: Disk) => Disk = (disk) => disk): Promise<Run> {
  const world = new SimWorld({ seed: JSON.stringify(point ?? 'whole') });
  const host = world.host('kv');
  const points = new CrashPoints(host, point);
  const follower = new Follower();
  const violations: string[] = [];
  const note = (what: string, problem: boolean): void => {
    if (problem) violations.push(`${point?.step} ${point?.end}: ${what}`);
  };
  const play = async (disk: Disk, first: number, done: (step: number) => void): Promise<void> => {
    const { store } = await open(host, disk);
    if (first > 0) {
      const { revision } = store.info('b');
      const known = follower.last;
      note(`MISSED at ${revision}, of ${known}`, follower.follow(store, revision) !== (revision === known));
    }
    for (const [index, step] of SCRIPT.entries()) {
      if (index < first) continue;
      await step.act(store, host);
      done(index + 1);
      if (index === 0) follower.follow(store, 0);
    }
  };
  let acknowledged = 0;
  const all = play(change(points.disk), 0, (step) => (acknowledged = step));
  await world.complete(Promise.race([all, points.ended]));
  if (host.state !== 'down') host.kill();
  host.restart();

  const left = found(await world.complete(open(host, host.runtime.disk)));
  const at = [acknowledged, acknowledged + 1].find(
    (step) =>
      JSON.stringify(sorted(expected(modelAfter(Math.min(step, SCRIPT.length))))) === JSON.stringify(sorted(left)),
  );
  note(`${follower.last} was told, and ${left.revision} is there`, left.revision < follower.last);
  note(`acknowledged ${acknowledged}, found ${JSON.stringify(left)}`, at === undefined);
  host.kill();
  host.restart();
  if (at !== undefined) {
    await world.complete(play(host.runtime.disk, at, () => {}));
    host.crash();
    host.restart();
    const end = found(await world.complete(open(host, host.runtime.disk)));
    const wanted = expected(modelAfter(SCRIPT.length));
    note(`at the end ${JSON.stringify(end)}`, JSON.stringify(sorted(end)) !== JSON.stringify(sorted(wanted)));
    note(`the follower ended at ${follower.last}`, follower.last !== wanted.revision);
  }
  for (const { revision, changes } of follower.told) {
    const wanted = modelAfter(SCRIPT.length).changes[revision - 1];
    note(`of ${revision} was told ${JSON.stringify(changes)}`, JSON.stringify(changes) !== JSON.stringify(wanted));
  }
  for (const each of follower.violations) note(each, true);
  return { steps: points.steps, violations };
}

/** With its fields in the order of their names, so that equal ones have equal texts. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]));
}

describe('a store whose process ends at any step of its disk', () => {
  it('has each write that it acknowledged and no part of another, and tells followers each revision once', async () => {
    const { steps, violations } = await runWith();
    expect(violations).toEqual([]);
    // Chunks, their removal, and the journal's own.
    expect(steps).toBeGreaterThan(SCRIPT.length + 8);
    const found: string[] = [];
    for (let step = 1; step <= steps; step += 1) {
      for (const end of ENDS) found.push(...(await runWith({ step, end })).violations);
    }
    expect(found).toEqual([]);
  });

  it('would not, without the sync of a commit', async () => {
    const { steps } = await runWith();
    const unsynced = (disk: Disk): Disk => ({
      ...disk,
      async open(path, mode) {
        const file = await disk.open(path, mode);
        const append: DiskFile['append'] = async (position, buffers) =>
          await file.write(position, Buffer.concat(buffers));
        return { ...file, append };
      },
    });
    const found: string[] = [];
    for (let step = 1; step <= steps; step += 3) {
      found.push(...(await runWith({ step, end: 'before' }, unsynced)).violations);
    }
    expect(found.join('\n')).toContain('acknowledged');
    expect(found.join('\n')).toContain('was told, and');
  });
});
