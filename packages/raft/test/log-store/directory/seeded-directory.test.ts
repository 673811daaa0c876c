import { silentLogger, type Disk } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { encodeConfiguration, initialConfiguration, logIndex, serverId, term } from '../../../src/core/index.ts';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { openDataDirectory } from '../../../src/log-store/directory/data-directory.ts';
import { DiskFeature } from '../../../src/log-store/files/disk-features.ts';
import { readRecoveredIndex, writeRecoveredIndex } from '../../../src/log-store/recovery/recovered-index.ts';
import { createSeededDirectory, type Seed } from '../../../src/log-store/directory/seeded-directory.ts';
import { bytesOf } from '../../../src/log-store/contract/snapshot.ts';
import { openWriteAheadLog } from '../../../src/log-store/wal/write-ahead-log.ts';
import { CrashPoints, type PowerCut } from '../support/crash-points.ts';
import { entry, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';

const MEMBERS = [1, 2].map((id) => ({ id: serverId(id), peerAddress: `127.0.0.1:720${id}` }));
const OPTIONS = { path: '/new', clusterId: 'new', serverId: serverId(2), members: MEMBERS, segmentBytes: 4_096 };
const INDEX = 2 ** 40 + 5;
const STATE = Uint8Array.from({ length: 700 }, (_, at) => at % 251);
const SEED: Seed = {
  position: {
    index: logIndex(INDEX),
    term: term(4),
    configuration: encodeConfiguration(initialConfiguration(MEMBERS)),
  },
  bytes: () => [STATE.subarray(0, 300), STATE.subarray(300)],
};

function worldOf({ disk, random }: Machine, alter: (disk: Disk) => Disk = (same) => same) {
  return { disk: alter(disk), random, logger: silentLogger };
}

/** As a server does at its start. */
async function open(machine: Machine) {
  const world = worldOf(machine);
  const directory = await openDataDirectory(OPTIONS, world);
  const { incarnation, logDirectory, features } = directory;
  const { clusterId, serverId: id, segmentBytes } = OPTIONS;
  const identity = { clusterId, serverId: id, incarnation };
  const store = await openWriteAheadLog({ ...identity, directory: logDirectory, segmentBytes, features }, world);
  return { directory, store };
}

async function expectSeeded(machine: Machine): Promise<void> {
  const { directory, store } = await open(machine);
  const { index, term: lastTerm, configuration } = SEED.position;
  expect(directory.members).toEqual(MEMBERS);
  expect(directory.features.required).toBe(DiskFeature.restart + DiskFeature.compacted);
  expect(store.durable).toMatchObject({
    hardState: { term: lastTerm, votedFor: 0 },
    base: { index, term: lastTerm },
    lastIndex: index,
    snapshot: { index, term: lastTerm, configuration },
  });
  const source = await store.openSnapshot();
  const bytes: number[] = [];
  if (source !== undefined) for await (const piece of bytesOf(source)) bytes.push(...piece);
  await source?.close();
  expect(Uint8Array.from(bytes)).toEqual(STATE);
  await store.write({ hardState: vote(5), entries: [entry(INDEX + 1, 5)] });
  await store.close();
  await directory.release();
}

describe('a data directory that begins with a state', () => {
  it('has it as its snapshot, and a log that goes on behind it', () =>
    onMachine(async (machine) => {
      await createSeededDirectory(OPTIONS, SEED, worldOf(machine));
      machine.crash();
      await expectSeeded(machine);
      machine.crash();
      const { store } = await open(machine);
      expect(store.durable.lastIndex).toBe(INDEX + 1);
      expect((await store.read(logIndex(INDEX + 1), logIndex(INDEX + 1), 1_000))[0]?.data).toEqual(
        entry(INDEX + 1, 5).data,
      );
    }));

  it('is whole, or none that a server starts on with its state missing, whenever the power fails', async () => {
    let whole = 0;
    let unfinished = 0;
    for (let step = 0, reached = true; reached; step += 1) {
      await onMachine(async (machine) => {
        const cut: PowerCut = { step, type: 'before', unsynced: step % 2 === 0 ? 'none' : 'all' };
        const points = new CrashPoints(machine, cut);
        await Promise.race([createSeededDirectory(OPTIONS, SEED, worldOf(machine, points.on)), points.cut]);
        reached = points.steps.length > step;
        const present: readonly string[] = await machine.disk.list('/new').catch(() => []);
        if (present.includes('identity.json')) {
          whole += 1;
          await expectSeeded(machine);
          return;
        }
        unfinished += 1;
        await machine.disk.removeTree('/new');
        await createSeededDirectory(OPTIONS, SEED, worldOf(machine));
        await expectSeeded(machine);
      });
    }
    expect(whole).toBeGreaterThan(0);
    expect(unfinished).toBeGreaterThan(5);
  });

  it('is not made where one is, or while it is in use', () =>
    onMachine(async (machine) => {
      await createSeededDirectory(OPTIONS, SEED, worldOf(machine));
      const again = createSeededDirectory(OPTIONS, SEED, worldOf(machine));
      await expect(again).rejects.toMatchObject({ code: 'FOREIGN_FILES', message: expect.stringContaining('already') });
      const lock = await machine.disk.lockDirectory('/new');
      const meanwhile = createSeededDirectory(OPTIONS, SEED, worldOf(machine));
      await expect(meanwhile).rejects.toMatchObject({ code: 'DATA_DIRECTORY_IN_USE' });
      await lock.release();
    }));
});

describe('the index at which a new cluster began out of a directory', () => {
  it('is kept over a power failure, and is the last one', () =>
    onMachine(async (machine) => {
      await machine.disk.makeDirectory('/old');
      expect(await readRecoveredIndex('/old', 'a', machine.disk)).toBe(0);
      for (const index of [INDEX, 2 * INDEX]) {
        await writeRecoveredIndex('/old', 'a', logIndex(index), machine.disk);
        machine.crash();
        expect(await readRecoveredIndex('/old', 'a', machine.disk)).toBe(index);
      }
    }));

  it('is refused when it is damaged, or of another directory', () =>
    onMachine(async (machine) => {
      await machine.disk.makeDirectory('/old');
      await writeRecoveredIndex('/old', 'a', logIndex(INDEX), machine.disk);
      await expect(readRecoveredIndex('/old', 'b', machine.disk)).rejects.toThrow(DamagedLogError);
      machine.flipBit('/old/recovered-at', 9);
      await expect(readRecoveredIndex('/old', 'a', machine.disk)).rejects.toThrow(DamagedLogError);
    }));
});
