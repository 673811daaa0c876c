import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../src/core/index.ts';
import { DamagedLogError } from '../../src/log-store/damaged-log-error.ts';
import { IdentityMismatchError } from '../../src/log-store/identity-mismatch-error.ts';
import { inspectWriteAheadLog } from '../../src/log-store/inspect.ts';
import { contentOf, entry, entryRange, modelOf, vote } from './support/log-model.ts';
import { VolatileDisk } from './support/volatile-disk.ts';
import { flipBit, LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths } from './support/wal-fixture.ts';

interface Written {
  readonly disk: VolatileDisk;
  readonly paths: string[];
  /** Where each batch of the last segment ends. */
  readonly ends: number[];
}

/** A log of several batches of one entry each, `bytes` large. */
async function written(batches: number, bytes = 100): Promise<Written> {
  const disk = new VolatileDisk();
  const store = await openLog(disk);
  const ends: number[] = [];
  for (let index = 1; index <= batches; index += 1) {
    await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, bytes)] });
    const last = (await segmentPaths(disk)).at(-1) ?? '';
    ends.push(disk.bytes(last).findLastIndex((byte) => byte !== 0) + 1);
  }
  await store.close();
  disk.crash();
  return { disk, paths: await segmentPaths(disk), ends };
}

async function damageOf(disk: VolatileDisk): Promise<DamagedLogError> {
  const error: unknown = await openLog(disk).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!(error instanceof DamagedLogError)) throw new Error('the log was opened', { cause: error });
  return error;
}

describe('a damaged log', () => {
  it('is refused when a bit has flipped before the last batch, wherever', async () => {
    const { disk, paths, ends } = await written(6);
    const [path = ''] = paths;
    const lastBatch = ends.at(-2) ?? 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: lastBatch - 1 }), async (offset) => {
        flipBit(disk, path, offset);
        const error: unknown = await openLog(disk).catch((caught: unknown) => caught);
        flipBit(disk, path, offset);
        expect(error instanceof DamagedLogError || error instanceof IdentityMismatchError, `offset ${offset}`).toBe(
          true,
        );
      }),
      { numRuns: 150 },
    );
    expect(await contentOf(await openLog(disk))).toEqual(entryRange(1, 6, 1, 100));
  });

  it('is cut when the flipped bit is in the last batch, which may never have been acknowledged', async () => {
    const probe = await written(6);
    for (let offset = probe.ends.at(-2) ?? 0; offset < (probe.ends.at(-1) ?? 0); offset += 5) {
      const { disk, paths } = await written(6);
      flipBit(disk, paths[0] ?? '', offset);
      const store = await openLog(disk);
      expect(await contentOf(store), `offset ${offset}`).toEqual(entryRange(1, 5, 1, 100));
      await store.write({ entries: [entry(6, 1, 1)] });
      expect((await openLog(disk)).durable.lastIndex).toBe(6);
    }
  });

  it('names the file, the place, the reason, and what to do', async () => {
    const { disk, paths, ends } = await written(6);
    const [path = ''] = paths;
    flipBit(disk, path, (ends[1] ?? 0) + 40);
    const error = await damageOf(disk);
    expect(error).toMatchObject({ file: path, code: 'DAMAGED_LOG' });
    expect(error.offset % 8).toBe(0);
    expect(error.offset).toBeGreaterThanOrEqual(ends[1] ?? 0);
    expect(error.reason).toMatch(/^the checksum of a batch is wrong, before a valid batch at byte \d+$/);
    expect(error.message).toContain('replace the server');
  });

  it('is refused when a batch in the middle has become zeros', async () => {
    const { disk, paths, ends } = await written(6);
    disk.bytes(paths[0] ?? '').fill(0, Math.ceil((ends[1] ?? 0) / 8) * 8, ends[2]);
    expect((await damageOf(disk)).reason).toContain('before a valid batch');
  });

  it('is refused when a segment in the middle is missing', async () => {
    const { disk, paths } = await written(4, 3_000);
    expect(paths).toHaveLength(4);
    await disk.mounted.remove(paths[1] ?? '');
    expect((await damageOf(disk)).reason).toBe('segment 2, which comes before it, is missing');
  });

  it('is refused when the first segment is missing', async () => {
    const { disk, paths } = await written(4, 3_000);
    await disk.mounted.remove(paths[0] ?? '');
    expect((await damageOf(disk)).reason).toBe('segment 1, which comes before it, is missing');
  });

  it('is refused when the header of a segment is damaged and there are later ones', async () => {
    const { disk, paths } = await written(4, 3_000);
    flipBit(disk, paths[1] ?? '', 0);
    expect(await damageOf(disk)).toMatchObject({ file: paths[1], offset: 0 });
  });

  it('is refused when an earlier segment ends too soon', async () => {
    const { disk, paths } = await written(8, 1_500);
    const [, second = ''] = paths;
    // The last batch of the segment, and nothing else, has become zeros: only the next header knows that it was there.
    const bytes = disk.bytes(second);
    const store = await inspectWriteAheadLog({ ...LOG_OPTIONS }, { disk: disk.mounted });
    const used = store.segments[1]?.usedBytes ?? 0;
    const lastBatch = bytes.findLastIndex((_, at) => at < used - 24 && at % 8 === 0 && isEntriesFrame(bytes, at));
    bytes.fill(0, lastBatch);
    expect((await damageOf(disk)).reason).toBe(`its records end here, but once went on to byte ${used}`);
  });

  it('is refused when an earlier segment was cut short and the last is still empty', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
    const next = store.write({ entries: entryRange(4, 6, 1, 1_000) });
    await disk.losePowerWhen('append', next);
    disk.crash();
    const paths = await segmentPaths(disk);
    expect(paths).toHaveLength(2);
    flipBit(disk, paths[0] ?? '', 2_000);
    expect((await damageOf(disk)).reason).toContain('there are later segments');
  });

  it('is refused when two segments were exchanged', async () => {
    const { disk, paths } = await written(4, 3_000);
    const [, second = '', third = ''] = paths;
    const bytes = disk.bytes(second).slice();
    disk.bytes(second).set(disk.bytes(third));
    disk.bytes(third).set(bytes);
    await damageOf(disk);
  });

  it('is not confused by valid bytes of another place: they count as never written', async () => {
    const { disk, paths, ends } = await written(6);
    const bytes = disk.bytes(paths[0] ?? '');
    const stale = bytes.slice(ends[1], ends[3]);
    bytes.set(stale, Math.ceil((ends[5] ?? 0) / 8) * 8);
    expect(await contentOf(await openLog(disk))).toEqual(entryRange(1, 6, 1, 100));
  });

  it('is not made by entries whose data look like a batch', async () => {
    const source = await written(3);
    const forged = source.disk.bytes(source.paths[0] ?? '').slice(0, 1_024);
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    await store.write({ hardState: vote(1), entries: [entry(1, 1)] });
    void store.write({ entries: [{ ...entry(2, 1), data: forged }] });
    let sector = 0;
    disk.crash((_path, what) => what === 'sector' && (sector += 1) > 1);
    expect(await contentOf(await openLog(disk))).toEqual([entry(1, 1)]);
  });

  it('is refused when a file has a name that no segment has', async () => {
    const { disk } = await written(2);
    await disk.mounted.open(`${LOG_OPTIONS.directory}/copy.wal`, 'create');
    expect((await damageOf(disk)).reason).toContain('its name');
  });
});

describe('the log of another server', () => {
  it.each([
    ['cluster', { clusterId: 'production' }],
    ['server', { serverId: serverId(2) }],
  ])('is refused by its %s id, with both named', async (_what, other) => {
    const { disk } = await written(3);
    const error: unknown = await openLog(disk, other).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(IdentityMismatchError);
    expect(error).toMatchObject({ found: { clusterId: 'test', serverId: 1 }, expected: other });
    expect(await contentOf(await openLog(disk))).toHaveLength(3);
  });

  it('is refused, and not cut, when only the incarnation differs', async () => {
    const { disk } = await written(3);
    const error: unknown = await openLog(disk, { incarnation: 'f'.repeat(32) }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(DamagedLogError);
    expect(await contentOf(await openLog(disk))).toHaveLength(3);
  });
});

describe('an inspection', () => {
  it('tells segments, last index and hard state, and changes nothing', async () => {
    const { disk, paths } = await written(3, 3_000);
    const before = disk.operations;
    const summary = await inspectWriteAheadLog(LOG_OPTIONS, { disk: disk.mounted });
    expect(summary).toMatchObject({
      hardState: vote(1),
      lastIndex: 3,
      lastTerm: 1,
      tornTail: undefined,
      damage: undefined,
    });
    expect(summary.segments.map(({ file }) => file)).toEqual(paths);
    for (const { sizeBytes, usedBytes } of summary.segments) {
      expect(sizeBytes).toBe(SEGMENT_BYTES);
      expect(usedBytes).toBeGreaterThan(3_000);
    }
    expect(disk.operations).toBeGreaterThan(before);
    expect(await modelOf(await openLog(disk))).toEqual({ hardState: vote(1), entries: entryRange(1, 3, 1, 3_000) });
  });

  it('reports a torn tail without cutting it, and damage without failing', async () => {
    const { disk, paths, ends } = await written(6);
    const [path = ''] = paths;
    flipBit(disk, path, (ends[4] ?? 0) + 40);
    const from = Math.ceil((ends[4] ?? 0) / 8) * 8;
    for (let times = 0; times < 2; times += 1) {
      const { tornTail, lastIndex } = await inspectWriteAheadLog(LOG_OPTIONS, { disk: disk.mounted });
      expect(tornTail).toEqual({ file: path, from, to: ends[5] });
      expect(lastIndex).toBe(5);
    }
    flipBit(disk, path, (ends[1] ?? 0) + 40);
    const { damage, lastIndex } = await inspectWriteAheadLog(LOG_OPTIONS, { disk: disk.mounted });
    expect(damage?.file).toBe(path);
    expect(lastIndex).toBe(2);
  });
});

function isEntriesFrame(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 4 && bytes[at + 1] === 0x48 && bytes[at + 2] === 0x46 && bytes[at + 3] === 0x57;
}
