/** Backups and restores whose process ends at every step of the disk. */

import { crc32 } from 'node:zlib';

import { SimWorld } from '@holdfast/runtime/sim';
import type { SimHost } from '@holdfast/runtime/sim';
import { beforeAll, describe, expect, it } from 'vitest';

import { readBackup } from '../../src/backup/backup-file.ts';
import type { BackupRecord } from '../../src/backup/backup-file.ts';
import { restoreBackup } from '../../src/backup/restore.ts';
import { takeBackup } from '../../src/backup/take-backup.ts';
import { writeBackup } from '../../src/backup/write-backup.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { openJournalEngine } from '../../src/engines/journal-engine.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { loadBucket } from '../../src/keyspace.ts';
import { VALUE_CHUNK_BYTES } from '../../src/limits.ts';
import { CrashPoints, ENDS } from '../support/crash-points.ts';
import type { CrashPoint } from '../support/crash-points.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import { refusalOf } from '../support/refusal-of.ts';

const DATA = '/data/fenced-kv';
const BACKUPS = '/backups';
const MONDAY = `${BACKUPS}/monday`;
const CLOCK = { wallMs: () => 0, monotonicMs: () => 0 };

async function putLarge(store: FencedStore, key: string, fill: number, token: number): Promise<void> {
  const upload = store.upload('behind', { token });
  await upload.append(new Uint8Array(VALUE_CHUNK_BYTES).fill(fill));
  await upload.append(new Uint8Array(10).fill(fill));
  await store.write('behind', [{ key, value: upload.value }], { token });
  await upload.used();
}

async function put(
  store: FencedStore,
  bucket: string,
  keys: readonly string[],
  fill: number,
  token: number,
): Promise<void> {
  const writes = keys.map((key) => ({ key, value: new Uint8Array(50).fill(fill), ttlMs: 600_000 }));
  await store.write(bucket, writes, { token });
}

/** What the backup has. */
async function fillSource(engine: Engine): Promise<void> {
  const store = await FencedStore.open(engine, { clock: CLOCK });
  await put(store, 'behind', ['k', 'l'], 1, 10);
  await putLarge(store, 'large', 1, 10);
  await put(store, 'ahead', ['k'], 1, 90);
  await store.create('new', { tokens: 'optional', lock: 'jobs' });
}

/** What is there before the restore: a higher fence in one bucket, a lower one in another. */
async function fillTarget(engine: Engine): Promise<void> {
  const store = await FencedStore.open(engine, { clock: CLOCK });
  await put(store, 'behind', ['k', 'gone'], 2, 60);
  await putLarge(store, 'large', 2, 60);
  await put(store, 'ahead', ['k', 'gone'], 2, 60);
  await put(store, 'other', ['k'], 2, 60);
}

/** Every key with the byte that fills its value, as `bucket/key=byte`. */
function contentOf(store: FencedStore): string[] {
  return ['ahead', 'behind', 'new', 'other'].flatMap((bucket) => {
    try {
      return store.list(bucket).keys.map(({ key }) => {
        const { value } = store.get(bucket, key);
        return `${bucket}/${key}=${value.every((byte) => byte === value[0]) ? value[0] : 'torn'}`;
      });
    } catch {
      return [];
    }
  });
}

const BEFORE = ['ahead/gone=2', 'ahead/k=2', 'behind/gone=2', 'behind/k=2', 'behind/large=2', 'other/k=2'];
const AFTER = ['ahead/k=1', 'behind/k=1', 'behind/l=1', 'behind/large=1', 'other/k=2'];

const open = async (host: SimHost, disk = host.runtime.disk): Promise<Engine> =>
  await openJournalEngine(DATA, { disk, rewriteMinBytes: 3_000 });

let records: BackupRecord[];

beforeAll(async () => {
  const engine = memoryEngine();
  await fillSource(engine);
  records = [];
  await takeBackup(engine, async (record) => void records.push(record));
});

async function* replay(): AsyncGenerator<BackupRecord> {
  yield* records;
}

/** The highest floors of two buckets, whether or not the data may be served. */
const fencesOf = (engine: Engine): (number | undefined)[] =>
  ['behind', 'ahead'].map((bucket) => engine.read((reader) => loadBucket(reader, bucket)?.highest));

function countRecords(engine: Engine, space: number): number {
  const range = { from: Uint8Array.of(space), to: Uint8Array.of(space + 1), limit: 1_000 };
  return engine.read((reader) => reader.range(range)).length;
}

/** Restores over other data up to the crash, looks at what is left, and restores again. Returns how many steps there were. */
async function restoreWith(point?: CrashPoint): Promise<number> {
  const where = `${point?.end} ${point?.step}`;
  const world = new SimWorld({ seed: where });
  const host = world.host('kv');
  const filled = async (): Promise<void> => {
    const engine = await open(host);
    await fillTarget(engine);
    await engine.close();
  };
  await world.complete(filled());
  const points = new CrashPoints(host, point);
  const restored = open(host, points.disk).then(async (engine) => await restoreBackup(engine, replay()));
  await world.complete(Promise.race([restored, points.ended]));
  if (host.state !== 'down') host.kill();
  host.restart();

  const left = await world.complete(open(host));
  const [behind = 0, ahead = 0] = fencesOf(left);
  expect([behind, ahead >= 60], where).toEqual([60, true]);
  const outcome = await world.complete(
    FencedStore.open(left, { clock: CLOCK }).then(contentOf, (error: unknown) => String(error)),
  );
  if (typeof outcome === 'string') expect(outcome, where).toContain('run fenced-kvd restore again');
  else expect([BEFORE, AFTER], where).toContainEqual(outcome);
  if (point === undefined) expect(outcome).toEqual(AFTER);

  await world.complete(restoreBackup(left, replay()));
  host.crash();
  host.restart();
  const again = await world.complete(open(host));
  const store = await world.complete(FencedStore.open(again, { clock: CLOCK }));
  expect(contentOf(store), where).toEqual(AFTER);
  expect(fencesOf(again), where).toEqual([60, 90]);
  expect(store.info('new'), where).toMatchObject({ tokens: 'optional', lock: 'jobs', highest: 0 });
  // Chunks, loose values, and times at which keys expire: none is left over.
  expect(
    [5, 7, 8].map((space) => countRecords(again, space)),
    where,
  ).toEqual([2, 0, 4]);
  for (const [bucket, token] of [
    ['behind', 59],
    ['ahead', 89],
  ] as const) {
    const late = store.write(bucket, [{ key: 'k', value: new Uint8Array(1) }], { token });
    expect(await world.complete(refusalOf(async () => await late)), where).toMatchObject({ code: 'STALE_TOKEN' });
  }
  return points.steps;
}

describe('a restore whose process ends at any step of the disk', () => {
  it('lowers no fence, leaves nothing that is half restored to be served, and is done when it is run again', async () => {
    const steps = await restoreWith();
    expect(steps).toBeGreaterThan(10);
    for (let step = 1; step <= steps; step += 1) for (const end of ENDS) await restoreWith({ step, end });
  });
});

/** Short, so that many are compared quickly. */
function textOf(record: BackupRecord): string {
  return JSON.stringify(record, (_name, value: unknown) =>
    value instanceof Uint8Array ? `${value.length} bytes, CRC ${crc32(value)}` : value,
  );
}

/** Writes a backup up to the crash, and looks at what has its name. */
async function backupWith(point?: CrashPoint): Promise<number> {
  const where = `${point?.end} ${point?.step}`;
  const world = new SimWorld({ seed: where });
  const host = world.host('kv');
  const source = memoryEngine();
  await fillSource(source);
  const points = new CrashPoints(host, point);
  const written = points.disk.makeDirectory(BACKUPS).then(async () => await writeBackup(MONDAY, points.disk, source));
  await world.complete(Promise.race([written, points.ended]));
  const acknowledged = host.state !== 'down';
  if (acknowledged) host.crash();
  host.restart();

  const { disk } = host.runtime;
  const look = async (): Promise<string[] | undefined> => {
    await disk.makeDirectory(BACKUPS);
    if (!(await disk.list(BACKUPS)).includes('monday')) return undefined;
    const found: BackupRecord[] = [];
    for await (const record of readBackup(await disk.open(MONDAY, 'existing'))) found.push(record);
    return found.map(textOf);
  };
  const left = await world.complete(look());
  if (acknowledged || left !== undefined) expect(left, where).toEqual(records.map(textOf));
  await world.complete(writeBackup(MONDAY, disk, source));
  expect(await world.complete(look()), where).toEqual(records.map(textOf));
  expect(await world.complete(disk.list(BACKUPS)), where).toEqual(['monday']);
  return points.steps;
}

describe('a backup whose process ends at any step of the disk', () => {
  it('has its name when it is whole and durable, and can be taken again', async () => {
    const steps = await backupWith();
    expect(steps).toBeGreaterThan(5);
    for (let step = 1; step <= steps; step += 1) for (const end of ENDS) await backupWith({ step, end });
  });
});
