import { silentLogger, type Disk } from '@holdfast/runtime';
import { expect, describe, it } from 'vitest';
import { serverId, term, type HardState } from '../../../src/core/index.ts';
import { logDirectoryOf, openDataDirectory } from '../../../src/log-store/directory/data-directory.ts';
import { inspectWriteAheadLog } from '../../../src/log-store/recovery/inspect.ts';
import { liftVoteBan } from '../../../src/log-store/directory/lift-vote-ban.ts';
import { writeVoteBan } from '../../../src/log-store/recovery/vote-ban.ts';
import { openWriteAheadLog } from '../../../src/log-store/wal/write-ahead-log.ts';
import { CrashPoints, type PowerCut } from '../support/crash-points.ts';
import { entryRange, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';

const PATH = '/data';
const OWNER = { clusterId: 'test', serverId: serverId(1) };
const BAN = term(6);

/** One whose log holds three entries of term 2 and the given hard state, under a ban that began in term 6. */
async function bannedDirectory({ disk, random }: Machine, hardState: HardState): Promise<string> {
  const world = { disk, random, logger: silentLogger };
  const members = [1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `127.0.0.1:720${id}` }));
  const directory = await openDataDirectory({ ...OWNER, path: PATH, members, segmentBytes: 4_096 }, world);
  const { incarnation, logDirectory } = directory;
  const log = await openWriteAheadLog(
    { ...OWNER, incarnation, directory: logDirectory, segmentBytes: 4_096 },
    { disk, logger: silentLogger },
  );
  await log.write({ hardState: vote(2), entries: entryRange(1, 3, 2) });
  await log.write({ hardState, entries: [] });
  await log.close();
  await writeVoteBan(logDirectory, incarnation, BAN, disk);
  await directory.release();
  return incarnation;
}

function lift(machine: Machine, alter: (disk: Disk) => Disk = (same) => same) {
  return liftVoteBan(PATH, { disk: alter(machine.disk), logger: silentLogger });
}

function look({ disk }: Machine, incarnation: string) {
  return inspectWriteAheadLog({ ...OWNER, incarnation, directory: logDirectoryOf(PATH) }, { disk });
}

describe('a ban on voting that an operator lifts', () => {
  it('leaves a server that is in the term in which the ban began, and has voted for nobody there', () =>
    onMachine(async (machine) => {
      const incarnation = await bannedDirectory(machine, vote(4, 3));
      expect(await lift(machine)).toEqual({ ban: BAN, last: { index: 3, term: 2 } });
      machine.crash();
      const found = await look(machine, incarnation);
      expect(found).toMatchObject({ hardState: { term: BAN, votedFor: 0 }, lastIndex: 3, voteBan: undefined });
      expect(found.damage).toBeUndefined();
    }));

  it('keeps a later term, in which it has already followed', () =>
    onMachine(async (machine) => {
      const incarnation = await bannedDirectory(machine, vote(9, 0));
      await lift(machine);
      machine.crash();
      expect(await look(machine, incarnation)).toMatchObject({ hardState: vote(9, 0), voteBan: undefined });
    }));

  it('is there, or its term is, whenever the power fails', async () => {
    let lifted = 0;
    for (let step = 0, reached = true; reached; step += 1) {
      await onMachine(async (machine) => {
        const incarnation = await bannedDirectory(machine, vote(4, 3));
        const cut: PowerCut = { step, type: 'before', unsynced: step % 2 === 0 ? 'none' : 'all' };
        const points = new CrashPoints(machine, cut);
        await Promise.race([lift(machine, points.on), points.cut]);
        reached = points.steps.length > step;
        const { voteBan, hardState, damage } = await look(machine, incarnation);
        expect(damage).toBeUndefined();
        if (voteBan === undefined) lifted += 1;
        expect(voteBan === BAN || hardState.term === BAN, points.steps[step]?.what).toBe(true);
        await lift(machine);
        expect(await look(machine, incarnation)).toMatchObject({ hardState: { term: BAN }, voteBan: undefined });
      });
    }
    expect(lifted).toBeGreaterThan(0);
  });

  it('is not touched while a server uses the directory', () =>
    onMachine(async (machine) => {
      const incarnation = await bannedDirectory(machine, vote(4, 3));
      const lock = await machine.disk.lockDirectory(PATH);
      await expect(lift(machine)).rejects.toMatchObject({ code: 'DATA_DIRECTORY_IN_USE' });
      await lock.release();
      expect(await look(machine, incarnation)).toMatchObject({ hardState: vote(4, 3), voteBan: BAN });
    }));
});
