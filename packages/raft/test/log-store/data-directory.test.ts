import { silentLogger, type Logger, type Random } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../src/core/index.ts';
import { openDataDirectory, readIdentity, type DataDirectoryOptions } from '../../src/log-store/data-directory.ts';
import { openWriteAheadLog } from '../../src/log-store/write-ahead-log.ts';
import { entryRange, vote } from './support/log-model.ts';
import { VolatileDisk } from './support/volatile-disk.ts';

const MEMBERS = [1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `127.0.0.1:720${id}` }));
const OPTIONS: DataDirectoryOptions = {
  path: '/srv/holdfast',
  clusterId: 'local',
  serverId: serverId(1),
  members: MEMBERS,
  segmentBytes: 4_096,
};

let nextByte = 0;
const random: Random = {
  next: () => 0.5,
  integer: () => 0,
  bytes: (length) => Uint8Array.from({ length }, () => (nextByte += 1) % 256),
};

function open(disk: VolatileDisk, options: Partial<DataDirectoryOptions> = {}, logger: Logger = silentLogger) {
  return openDataDirectory({ ...OPTIONS, ...options }, { disk: disk.mounted, random, logger });
}

async function failureOf(opening: Promise<unknown>): Promise<unknown> {
  return opening.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function writeFile(disk: VolatileDisk, path: string, text: string): Promise<void> {
  const file = await disk.mounted.open(path, 'create');
  await file.append(0, [new TextEncoder().encode(text)]);
  await disk.mounted.syncDirectory(path.slice(0, path.lastIndexOf('/')));
}

async function openLogIn(disk: VolatileDisk, directory: { incarnation: string; logDirectory: string }) {
  const { incarnation, logDirectory } = directory;
  const { clusterId, serverId: id } = OPTIONS;
  return openWriteAheadLog(
    { directory: logDirectory, clusterId, serverId: id, incarnation, segmentBytes: 4_096 },
    { disk: disk.mounted, logger: silentLogger },
  );
}

describe('a data directory', () => {
  it('keeps its incarnation and its initial members', async () => {
    const disk = new VolatileDisk();
    const first = await open(disk);
    expect(first.incarnation).toMatch(/^[0-9a-f]{32}$/);
    expect(first.members).toEqual(MEMBERS);
    expect(first.logDirectory).toBe('/srv/holdfast/group-0');
    disk.crash();
    const second = await open(disk, { members: [] });
    expect(second).toMatchObject({ incarnation: first.incarnation, members: MEMBERS });
    expect(await readIdentity(OPTIONS.path, { disk: disk.mounted })).toMatchObject({ clusterId: 'local', serverId: 1 });
  });

  it('has another incarnation than every other', async () => {
    const incarnations = await Promise.all([new VolatileDisk(), new VolatileDisk()].map((disk) => open(disk)));
    expect(incarnations[0]?.incarnation).not.toBe(incarnations[1]?.incarnation);
  });

  it('is whole or starts over, whenever the power fails while it is made', async () => {
    for (const tear of ['none', 'all'] as const) {
      let finished = false;
      for (let operations = 1; !finished; operations += 1) {
        const disk = new VolatileDisk();
        const lost = disk.losePowerAt(operations);
        const made = await Promise.race([open(disk), lost]);
        finished = made !== undefined;
        disk.crash(tear);
        const directory = await open(disk);
        const log = await openLogIn(disk, directory);
        await log.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
        disk.crash();
        const again = await open(disk);
        expect(again.incarnation).toBe(directory.incarnation);
        if (made !== undefined) expect(again.incarnation).toBe(made.incarnation);
        expect((await openLogIn(disk, again)).durable.lastIndex).toBe(2);
      }
    }
  });

  it('belongs to one process at a time', async () => {
    const disk = new VolatileDisk();
    const first = await open(disk);
    const failure = await failureOf(open(disk));
    expect(failure).toMatchObject({ name: 'DataDirectoryInUseError', path: OPTIONS.path });
    expect(String(failure)).toContain('/srv/holdfast is in use');
    await first.release();
    await (await open(disk)).release();
  });

  it('is let go when it cannot be used', async () => {
    const disk = new VolatileDisk();
    await (await open(disk)).release();
    expect(await failureOf(open(disk, { clusterId: 'other' }))).toMatchObject({ name: 'IdentityMismatchError' });
    await (await open(disk)).release();
  });

  it.each([
    ['cluster', { clusterId: 'production' }, 'server 1 of cluster "production"'],
    ['server', { serverId: serverId(2) }, 'server 2 of cluster "local"'],
  ])('of another %s is refused, with both named', async (_what, other, named) => {
    const disk = new VolatileDisk();
    await (await open(disk)).release();
    const failure = await failureOf(open(disk, other));
    expect(failure).toMatchObject({ name: 'IdentityMismatchError', code: 'IDENTITY_MISMATCH' });
    expect(String(failure)).toContain('server 1 of cluster "local"');
    expect(String(failure)).toContain(named);
  });

  it('ignores other members than its own, and says so', async () => {
    const disk = new VolatileDisk();
    await (await open(disk)).release();
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, info: (_fields, message) => lines.push(message) };
    const directory = await open(disk, { members: MEMBERS.slice(0, 1) }, logger);
    expect(directory.members).toEqual(MEMBERS);
    expect(lines).toEqual(['the given members differ from those that the directory was made with, which count']);
    await directory.release();
    lines.length = 0;
    await open(disk, { members: MEMBERS.toReversed() }, logger);
    expect(lines).toEqual([]);
  });

  it('is not made for a server that is no member', async () => {
    for (const members of [[], MEMBERS.slice(1)]) {
      const failure = await failureOf(open(new VolatileDisk(), { members }));
      expect(failure).toMatchObject({ name: 'DataDirectoryError', code: 'NO_MEMBERS' });
    }
  });

  it('is refused, untouched, when other files are there', async () => {
    const disk = new VolatileDisk();
    await disk.mounted.makeDirectory(OPTIONS.path);
    await writeFile(disk, '/srv/holdfast/thesis.tex', 'years of work');
    const failure = await failureOf(open(disk));
    expect(failure).toMatchObject({ code: 'FOREIGN_FILES' });
    expect(String(failure)).toContain('thesis.tex');
    expect(await disk.mounted.list(OPTIONS.path)).toEqual(['thesis.tex']);
  });

  it('whose log has vanished is refused: an empty log could vote', async () => {
    const disk = new VolatileDisk();
    await (await open(disk)).release();
    await disk.mounted.removeTree('/srv/holdfast/group-0');
    expect(await failureOf(open(disk))).toMatchObject({
      name: 'DamagedLogError',
      reason: 'every segment of the log is missing',
    });
  });

  it('whose identity has vanished keeps its log', async () => {
    const disk = new VolatileDisk();
    const log = await openLogIn(disk, await open(disk));
    await log.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
    disk.crash();
    await disk.mounted.remove('/srv/holdfast/identity.json');
    expect(await failureOf(open(disk))).toMatchObject({ code: 'DAMAGED_IDENTITY' });
    expect(await disk.mounted.list('/srv/holdfast/group-0')).toHaveLength(1);
  });

  it.each([
    ['no JSON', '{"formatVersion": 1', 'DAMAGED_IDENTITY'],
    ['no object', '[]', 'DAMAGED_IDENTITY'],
    ['no version', '{}', 'DAMAGED_IDENTITY'],
    ['a later version', '{"formatVersion": 2}', 'UNSUPPORTED_FORMAT'],
    ['no cluster id', '{"formatVersion": 1}', 'DAMAGED_IDENTITY'],
    ['a bad server id', '{"formatVersion": 1, "clusterId": "local", "serverId": -1}', 'DAMAGED_IDENTITY'],
    [
      'a bad member',
      `{"formatVersion": 1, "clusterId": "local", "serverId": 1, "incarnation": "${'0'.repeat(32)}", "members": [7]}`,
      'DAMAGED_IDENTITY',
    ],
  ])('whose identity file has %s is refused', async (_what, text, code) => {
    const disk = new VolatileDisk();
    await disk.mounted.makeDirectory(OPTIONS.path);
    await writeFile(disk, '/srv/holdfast/identity.json', text);
    const failure = await failureOf(open(disk));
    expect(failure).toMatchObject({ name: 'DataDirectoryError', code });
    expect(String(failure)).toContain('/srv/holdfast/identity.json');
  });
});
