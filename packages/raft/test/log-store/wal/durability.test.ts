/**
 * Each durable operation of the log, shown to be needed: a scenario that holds on an honest disk must fail on one that leaves out
 * exactly that operation.
 */

import type { Disk } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { logIndex, term } from '../../../src/core/index.ts';
import { FrameType, frameBytes, parseFrameHeader } from '../../../src/log-store/format/frame.ts';
import { bytesOf } from '../../../src/log-store/contract/snapshot.ts';
import { EMPTY_MODEL, entryRange, modelOf, vote, type LogModel } from '../support/log-model.ts';
import { alterDisk } from '../support/alter-disk.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { openLog } from '../support/wal-fixture.ts';

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

async function keepsEntriesOverPowerFailure(machine: Machine, alter: AlterDisk): Promise<Evidence> {
  const before = await openLog(machine);
  await before.write({ hardState: vote(1), entries: [] });
  await before.close();
  const store = await openLog(machine, {}, alter);
  await store.write({ entries: entryRange(1, 5, 1) });
  machine.crash();
  const acknowledged = { hardState: vote(1), entries: entryRange(1, 5, 1) };
  return { acknowledged, found: await modelOf(await openLog(machine)) };
}

async function keepsVoteOverPowerFailure(machine: Machine, alter: AlterDisk): Promise<Evidence> {
  const before = await openLog(machine);
  // Of the same term, which no mark tells.
  await before.write({ hardState: vote(2, 0), entries: entryRange(1, 2, 1) });
  await before.close();
  const store = await openLog(machine, {}, alter);
  await store.write({ hardState: vote(2, 3), entries: [] });
  machine.crash();
  const acknowledged = { hardState: vote(2, 3), entries: entryRange(1, 2, 1) };
  return { acknowledged, found: await modelOf(await openLog(machine)) };
}

async function findsNewSegmentAfterPowerFailure(machine: Machine, alter: AlterDisk): Promise<Evidence> {
  await (await openLog(machine)).close();
  const store = await openLog(machine, {}, alter);
  await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
  await store.write({ entries: entryRange(4, 6, 1, 1_000) });
  machine.crash();
  const acknowledged = { hardState: vote(1), entries: entryRange(1, 6, 1, 1_000) };
  return { acknowledged, found: await modelOf(await openLog(machine)) };
}

async function findsFirstSegmentAfterPowerFailure(machine: Machine, alter: AlterDisk): Promise<Evidence> {
  const store = await openLog(machine, {}, alter);
  await store.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
  machine.crash();
  return {
    acknowledged: { hardState: vote(1), entries: entryRange(1, 2, 1) },
    found: await modelOf(await openLog(machine)),
  };
}

async function evidenceOf(scenario: (machine: Machine, alter: AlterDisk) => Promise<Evidence>, alter: AlterDisk) {
  let evidence: Evidence | undefined;
  await onMachine(async (machine) => {
    evidence = await scenario(machine, alter);
  });
  if (evidence === undefined) throw new Error('the scenario did not end');
  return evidence;
}

describe('a write-ahead log', () => {
  it('keeps acknowledged entries over a power failure [lost-unsynced-suffix]', async () => {
    const { acknowledged, found } = await evidenceOf(keepsEntriesOverPowerFailure, honest);
    expect(found).toEqual(acknowledged);
  });

  it('keeps an acknowledged vote over a power failure', async () => {
    const { acknowledged, found } = await evidenceOf(keepsVoteOverPowerFailure, honest);
    expect(found).toEqual(acknowledged);
  });

  it('finds a new segment after a power failure [rename-append-reordered]', async () => {
    const { acknowledged, found } = await evidenceOf(findsNewSegmentAfterPowerFailure, honest);
    expect(found).toEqual(acknowledged);
  });

  it('finds a snapshot that was finished whole after a power failure [flush-before-fsync]', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 5, 1) });
      const position = { index: logIndex(5), term: term(1) };
      const sink = await store.createSnapshot({ ...position, origin: 'taken', configuration: new Uint8Array(0) });
      const state = Uint8Array.from({ length: 1_000 }, (_, at) => at % 251);
      await sink.write(state);
      await sink.finish();
      machine.crash();
      const again = await openLog(machine);
      expect(again.snapshot).toMatchObject(position);
      const source = await again.openSnapshot();
      if (source === undefined) throw new Error('there is no snapshot');
      const found: Uint8Array[] = [];
      for await (const piece of bytesOf(source)) found.push(Uint8Array.from(piece));
      expect(Buffer.concat(found)).toEqual(Buffer.from(state));
      await source.close();
    }));

  it('finds its first segment after a power failure', async () => {
    const { acknowledged, found } = await evidenceOf(findsFirstSegmentAfterPowerFailure, honest);
    expect(found).toEqual(acknowledged);
  });
});

describe('without the durable operation', () => {
  it('of a batch of entries, acknowledged entries are lost', async () => {
    const { found } = await evidenceOf(keepsEntriesOverPowerFailure, volatileEntries);
    expect(found).toEqual({ hardState: vote(1), entries: [] });
  });

  it('of a vote alone, an acknowledged vote is lost', async () => {
    const { acknowledged, found } = await evidenceOf(keepsVoteOverPowerFailure, volatileVotes);
    expect(found).toEqual({ hardState: vote(2, 0), entries: acknowledged.entries });
  });

  it('of the name of a new segment, its entries are lost, which the mark of the last segment tells', async () => {
    const evidence = evidenceOf(findsNewSegmentAfterPowerFailure, volatileNames);
    await expect(evidence).rejects.toThrow('segment 2 is missing, and the log had got to segment 2');
  });

  it('of the name of the first segment, everything is lost', async () => {
    const { found } = await evidenceOf(findsFirstSegmentAfterPowerFailure, volatileNames);
    expect(found).toEqual(EMPTY_MODEL);
  });

  it('of another kind, each scenario still holds: it shows that one operation alone', async () => {
    const others = [
      await evidenceOf(keepsEntriesOverPowerFailure, volatileVotes),
      await evidenceOf(keepsVoteOverPowerFailure, volatileEntries),
      await evidenceOf(findsNewSegmentAfterPowerFailure, volatileVotes),
    ];
    expect(others[0]?.found.entries).toEqual(others[0]?.acknowledged.entries);
    expect(others[1]?.found.hardState).toEqual(others[1]?.acknowledged.hardState);
    expect(others[2]?.found).toEqual(others[2]?.acknowledged);
  });
});
