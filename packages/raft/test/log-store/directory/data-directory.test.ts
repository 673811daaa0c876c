import { DiskError, silentLogger, type Logger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../../src/core/index.ts';
import {
  findIdentity,
  openDataDirectory,
  readIdentity,
  type DataDirectory,
  type DataDirectoryOptions,
} from '../../../src/log-store/directory/data-directory.ts';
import { DiskFeature } from '../../../src/log-store/files/disk-features.ts';
import { openWriteAheadLog } from '../../../src/log-store/wal/write-ahead-log.ts';
import { entryRange, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';

const MEMBERS = [1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `127.0.0.1:720${id}` }));
const OPTIONS: DataDirectoryOptions = {
  path: '/srv/holdfast',
  clusterId: 'local',
  serverId: serverId(1),
  members: MEMBERS,
  segmentBytes: 4_096,
};

function open(machine: Machine, options: Partial<DataDirectoryOptions> = {}, logger: Logger = silentLogger) {
  return openDataDirectory({ ...OPTIONS, ...options }, { disk: machine.disk, random: machine.random, logger });
}

async function failureOf(opening: Promise<unknown>): Promise<unknown> {
  return opening.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function openLogIn(machine: Machine, directory: { incarnation: string; logDirectory: string }) {
  const { incarnation, logDirectory } = directory;
  const { clusterId, serverId: id } = OPTIONS;
  return openWriteAheadLog(
    { directory: logDirectory, clusterId, serverId: id, incarnation, segmentBytes: 4_096 },
    { disk: machine.disk, logger: silentLogger },
  );
}

describe('a data directory', () => {
  it('keeps its incarnation and its initial members', () =>
    onMachine(async (machine) => {
      const first = await open(machine);
      expect(first.incarnation).toMatch(/^[0-9a-f]{32}$/);
      expect(first.members).toEqual(MEMBERS);
      expect(first.logDirectory).toBe('/srv/holdfast/group-0');
      machine.crash();
      const second = await open(machine, { members: [] });
      expect(second).toMatchObject({ incarnation: first.incarnation, members: MEMBERS });
      expect(await readIdentity(OPTIONS.path, { disk: machine.disk })).toMatchObject({
        clusterId: 'local',
        serverId: 1,
      });
    }));

  it('has another incarnation than the one that was there before', () =>
    onMachine(async (machine) => {
      const first = await open(machine);
      await first.release();
      await machine.disk.removeTree(OPTIONS.path);
      expect((await open(machine)).incarnation).not.toBe(first.incarnation);
    }));

  it.each(['none', 'all', 'random'] as const)(
    'is whole or starts over, whenever the power fails while it is made (unsynced: %s)',
    async (tear) => {
      for (let step = 0; step < 60; step += 1) {
        await onMachine(async (machine) => {
          let made: DataDirectory | undefined;
          const making = async () => {
            made = await open(machine);
          };
          void making();
          await machine.crashAfter(step / 4, tear);
          const directory = await open(machine);
          const log = await openLogIn(machine, directory);
          await log.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
          machine.crash();
          const again = await open(machine);
          expect(again.incarnation).toBe(made?.incarnation ?? directory.incarnation);
          expect((await openLogIn(machine, again)).durable.lastIndex).toBe(2);
        }, step);
      }
    },
  );

  it('belongs to one process at a time', () =>
    onMachine(async (machine) => {
      const first = await open(machine);
      const failure = await failureOf(open(machine));
      expect(failure).toMatchObject({ name: 'DataDirectoryInUseError', path: OPTIONS.path });
      expect(String(failure)).toContain('/srv/holdfast is in use');
      await first.release();
      await (await open(machine)).release();
    }));

  it('is let go when it cannot be used', () =>
    onMachine(async (machine) => {
      await (await open(machine)).release();
      expect(await failureOf(open(machine, { clusterId: 'other' }))).toMatchObject({ name: 'IdentityMismatchError' });
      await (await open(machine)).release();
    }));

  it.each([
    ['cluster', { clusterId: 'production' }, 'server 1 of cluster "production"'],
    ['server', { serverId: serverId(2) }, 'server 2 of cluster "local"'],
  ])('of another %s is refused, with both named', (_what, other, named) =>
    onMachine(async (machine) => {
      await (await open(machine)).release();
      const failure = await failureOf(open(machine, other));
      expect(failure).toMatchObject({ name: 'IdentityMismatchError', code: 'IDENTITY_MISMATCH' });
      expect(String(failure)).toContain('server 1 of cluster "local"');
      expect(String(failure)).toContain(named);
    }),
  );

  it('ignores other members than its own, and says so', () =>
    onMachine(async (machine) => {
      await (await open(machine)).release();
      const lines: string[] = [];
      const logger: Logger = { ...silentLogger, info: (_fields, message) => lines.push(message) };
      const directory = await open(machine, { members: MEMBERS.slice(0, 1) }, logger);
      expect(directory.members).toEqual(MEMBERS);
      expect(lines).toEqual(['the given members differ from those that the directory was made with, which count']);
      await directory.release();
      lines.length = 0;
      await open(machine, { members: MEMBERS.toReversed() }, logger);
      expect(lines).toEqual([]);
    }));

  it('is not made for a server that is no member', () =>
    onMachine(async (machine) => {
      for (const members of [[], MEMBERS.slice(1)]) {
        const failure = await failureOf(open(machine, { members }));
        expect(failure).toMatchObject({ name: 'DataDirectoryError', code: 'NO_MEMBERS' });
      }
    }));

  it('of a server that joins has no members, says so again after a restart, and whatever it is told then', () =>
    onMachine(async (machine) => {
      const first = await open(machine, { members: [], joins: true });
      expect(first.members).toEqual([]);
      expect(await readIdentity(OPTIONS.path, { disk: machine.disk })).toMatchObject({
        serverId: 1,
        members: [],
        required: DiskFeature.configuration,
      });
      machine.crash();
      for (const told of [{ joins: true, members: [] }, { members: [] }, { members: MEMBERS }]) {
        const again = await open(machine, told);
        expect(again).toMatchObject({ incarnation: first.incarnation, members: [] });
        await again.release();
      }
    }));

  it('is not made for a server that joins and names members', () =>
    onMachine(async (machine) => {
      const failure = await failureOf(open(machine, { joins: true }));
      expect(failure).toMatchObject({ name: 'DataDirectoryError', code: 'NO_MEMBERS' });
      expect(String(failure)).toContain('must not be given');
    }));

  it('is refused, untouched, when other files are there', () =>
    onMachine(async (machine) => {
      await machine.disk.makeDirectory(OPTIONS.path);
      await machine.createFile('/srv/holdfast/thesis.tex', new TextEncoder().encode('years of work'));
      const failure = await failureOf(open(machine));
      expect(failure).toMatchObject({ code: 'FOREIGN_FILES' });
      expect(String(failure)).toContain('thesis.tex');
      expect(await machine.disk.list(OPTIONS.path)).toEqual(['thesis.tex']);
    }));

  it('whose log has vanished is refused: an empty log could vote', () =>
    onMachine(async (machine) => {
      await (await open(machine)).release();
      await machine.disk.removeTree('/srv/holdfast/group-0');
      expect(await failureOf(open(machine))).toMatchObject({
        name: 'DamagedLogError',
        reason: 'every segment of the log is missing',
      });
    }));

  it('whose log cannot be listed is not taken for a new one by whoever looks at it', () =>
    onMachine(async (machine) => {
      await (await open(machine)).release();
      await machine.disk.remove('/srv/holdfast/identity.json');
      const failure = new DiskError('IO', OPTIONS.path, 'the disk failed');
      const disk = new Proxy(machine.disk, {
        get: (target, key) => {
          if (key === 'list') return () => Promise.reject(failure);
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      await expect(findIdentity(OPTIONS.path, { disk })).rejects.toBe(failure);
      expect(await findIdentity('/srv/none', machine)).toBeUndefined();
    }));

  it('whose identity has vanished keeps its log', () =>
    onMachine(async (machine) => {
      const log = await openLogIn(machine, await open(machine));
      await log.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
      machine.crash();
      await machine.disk.remove('/srv/holdfast/identity.json');
      expect(await failureOf(open(machine))).toMatchObject({ code: 'DAMAGED_IDENTITY' });
      expect((await machine.disk.list('/srv/holdfast/group-0')).filter((name) => name.endsWith('.wal'))).toHaveLength(
        1,
      );
    }));

  it.each([
    ['no JSON', '{"formatVersion": 1', 'DAMAGED_IDENTITY'],
    ['no object', '[]', 'DAMAGED_IDENTITY'],
    ['null', 'null', 'DAMAGED_IDENTITY'],
    ['no version', '{}', 'DAMAGED_IDENTITY'],
    ['a later version', '{"formatVersion": 3}', 'UNSUPPORTED_FORMAT'],
    ['a demand of a later version', '{"formatVersion": 1, "required": 1099511627776}', 'UNSUPPORTED_FORMAT'],
    ['a demand that is none', '{"formatVersion": 1, "required": -1}', 'DAMAGED_IDENTITY'],
    ['no cluster id', '{"formatVersion": 1}', 'DAMAGED_IDENTITY'],
    ['a bad server id', '{"formatVersion": 1, "clusterId": "local", "serverId": -1}', 'DAMAGED_IDENTITY'],
    [
      'null for a member',
      `{"formatVersion": 1, "clusterId": "local", "serverId": 1, "incarnation": "${'0'.repeat(32)}", "members": [null]}`,
      'DAMAGED_IDENTITY',
    ],
    [
      'a bad member',
      `{"formatVersion": 1, "clusterId": "local", "serverId": 1, "incarnation": "${'0'.repeat(32)}", "members": [7]}`,
      'DAMAGED_IDENTITY',
    ],
  ])('whose identity file has %s is refused', (_what, text, code) =>
    onMachine(async (machine) => {
      await machine.disk.makeDirectory(OPTIONS.path);
      await machine.createFile('/srv/holdfast/identity.json', new TextEncoder().encode(text));
      const failure = await failureOf(open(machine));
      expect(failure).toMatchObject({ name: 'DataDirectoryError', code });
      expect(String(failure)).toContain('/srv/holdfast/identity.json');
    }),
  );
});
