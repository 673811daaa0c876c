/**
 * Each durable operation of the log, shown to be needed: a scenario that holds on an honest disk must fail on one that leaves out
 * exactly that operation.
 */

import type { Disk } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { FrameType, frameBytes, parseFrameHeader } from '../../src/log-store/frame.ts';
import { EMPTY_MODEL, entryRange, modelOf, vote, type LogModel } from './support/log-model.ts';
import { alterDisk } from './support/alter-disk.ts';
import { VolatileDisk } from './support/volatile-disk.ts';
import { openLog } from './support/wal-fixture.ts';

interface Evidence {
  readonly acknowledged: LogModel;
  readonly found: LogModel;
}

type AlterDisk = (disk: Disk) => Disk;

const honest: AlterDisk = (disk) => disk;

/** Appends of batches for which `leavesOut` holds are written without being made durable. */
function withVolatileBatches(leavesOut: (frames: ReadonlySet<FrameType>) => boolean): AlterDisk {
  return (disk) =>
    alterDisk(disk, {
      append: async (file, position, buffers) => {
        const bytes = Buffer.concat(buffers);
        if (leavesOut(frameTypes(bytes))) await file.write(position, bytes);
        else await file.append(position, buffers);
      },
    });
}

function frameTypes(bytes: Uint8Array): Set<FrameType> {
  const types = new Set<FrameType>();
  for (let at = 0; at < bytes.length;) {
    const header = parseFrameHeader(bytes.subarray(at, at + 8));
    if (header === undefined) break;
    types.add(header.type);
    at += frameBytes(header.payloadBytes);
  }
  return types;
}

const volatileEntries = withVolatileBatches((types) => types.has(FrameType.entries));
const volatileVotes = withVolatileBatches((types) => types.has(FrameType.hardState) && !types.has(FrameType.entries));
const volatileNames: AlterDisk = (disk) => alterDisk(disk, { syncDirectory: async () => {} });

async function keepsEntriesOverPowerFailure(alter: AlterDisk): Promise<Evidence> {
  const disk = new VolatileDisk();
  const before = await openLog(disk);
  await before.write({ hardState: vote(1), entries: [] });
  await before.close();
  const store = await openLog(disk, {}, alter);
  await store.write({ entries: entryRange(1, 5, 1) });
  disk.crash();
  const acknowledged = { hardState: vote(1), entries: entryRange(1, 5, 1) };
  return { acknowledged, found: await modelOf(await openLog(disk)) };
}

async function keepsVoteOverPowerFailure(alter: AlterDisk): Promise<Evidence> {
  const disk = new VolatileDisk();
  const before = await openLog(disk);
  await before.write({ hardState: vote(1, 1), entries: entryRange(1, 2, 1) });
  await before.close();
  const store = await openLog(disk, {}, alter);
  await store.write({ hardState: vote(2, 3), entries: [] });
  disk.crash();
  const acknowledged = { hardState: vote(2, 3), entries: entryRange(1, 2, 1) };
  return { acknowledged, found: await modelOf(await openLog(disk)) };
}

async function findsNewSegmentAfterPowerFailure(alter: AlterDisk): Promise<Evidence> {
  const disk = new VolatileDisk();
  await (await openLog(disk)).close();
  const store = await openLog(disk, {}, alter);
  await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
  await store.write({ entries: entryRange(4, 6, 1, 1_000) });
  disk.crash();
  const acknowledged = { hardState: vote(1), entries: entryRange(1, 6, 1, 1_000) };
  return { acknowledged, found: await modelOf(await openLog(disk)) };
}

async function findsFirstSegmentAfterPowerFailure(alter: AlterDisk): Promise<Evidence> {
  const disk = new VolatileDisk();
  const store = await openLog(disk, {}, alter);
  await store.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
  disk.crash();
  return {
    acknowledged: { hardState: vote(1), entries: entryRange(1, 2, 1) },
    found: await modelOf(await openLog(disk)),
  };
}

describe('a write-ahead log', () => {
  it('keeps acknowledged entries over a power failure', async () => {
    const { acknowledged, found } = await keepsEntriesOverPowerFailure(honest);
    expect(found).toEqual(acknowledged);
  });

  it('keeps an acknowledged vote over a power failure', async () => {
    const { acknowledged, found } = await keepsVoteOverPowerFailure(honest);
    expect(found).toEqual(acknowledged);
  });

  it('finds a new segment after a power failure', async () => {
    const { acknowledged, found } = await findsNewSegmentAfterPowerFailure(honest);
    expect(found).toEqual(acknowledged);
  });

  it('finds its first segment after a power failure', async () => {
    const { acknowledged, found } = await findsFirstSegmentAfterPowerFailure(honest);
    expect(found).toEqual(acknowledged);
  });
});

describe('without the durable operation', () => {
  it('of a batch of entries, acknowledged entries are lost', async () => {
    const { found } = await keepsEntriesOverPowerFailure(volatileEntries);
    expect(found).toEqual({ hardState: vote(1), entries: [] });
  });

  it('of a vote alone, an acknowledged vote is lost', async () => {
    const { acknowledged, found } = await keepsVoteOverPowerFailure(volatileVotes);
    expect(found).toEqual({ hardState: vote(1, 1), entries: acknowledged.entries });
  });

  it('of the name of a new segment, its entries are lost', async () => {
    const { found } = await findsNewSegmentAfterPowerFailure(volatileNames);
    expect(found).toEqual({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
  });

  it('of the name of the first segment, everything is lost', async () => {
    const { found } = await findsFirstSegmentAfterPowerFailure(volatileNames);
    expect(found).toEqual(EMPTY_MODEL);
  });

  it('of another kind, each scenario still holds: it shows that one operation alone', async () => {
    const others = [
      await keepsEntriesOverPowerFailure(volatileVotes),
      await keepsVoteOverPowerFailure(volatileEntries),
      await findsNewSegmentAfterPowerFailure(volatileVotes),
    ];
    expect(others[0]?.found.entries).toEqual(others[0]?.acknowledged.entries);
    expect(others[1]?.found.hardState).toEqual(others[1]?.acknowledged.hardState);
    expect(others[2]?.found).toEqual(others[2]?.acknowledged);
  });
});
