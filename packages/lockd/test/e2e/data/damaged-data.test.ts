import { createHash } from 'node:crypto';
import {
  closeSync,
  cpSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandType, CreateMode, encodeCommand, type Command } from '@holdfast/protocol';
import { EntryType, logIndex, openDataDirectory, openWriteAheadLog, serverId, term, type Entry } from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { encodeEntry } from '@holdfast/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LockdProcess, freePorts, until } from '../support/lockd-process.ts';

const SEGMENT_BYTES = 8 * 1024;
/** Two batches of them fill a segment. */
const NODE_BYTES = 3_500;
const LAST_INDEX = 9;

let root: string;
/** What the rows are copied from: four segments of two or three batches. */
let intact: string;
let segments: readonly string[];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'lockd-damage-'));
  intact = join(root, 'intact');
  await writeDataDirectory(intact);
  segments = readdirSync(join(intact, 'group-0')).filter((name) => name.endsWith('.wal'));
  expect(segments).toHaveLength(4);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** One session that has made nodes, as a server would have logged it, a write for each entry. */
async function writeDataDirectory(path: string): Promise<void> {
  const { disk, random } = nodeRuntime();
  const identity = { clusterId: 'e2e', serverId: serverId(1) };
  const members = [{ id: serverId(1), peerAddress: '127.0.0.1:1' }];
  const world = { disk, random, logger: silentLogger };
  const directory = await openDataDirectory({ ...identity, path, members, segmentBytes: SEGMENT_BYTES }, world);
  const { incarnation, logDirectory } = directory;
  const log = await openWriteAheadLog(
    { ...identity, incarnation, directory: logDirectory, segmentBytes: SEGMENT_BYTES },
    world,
  );
  await log.write({ hardState: { term: term(1), votedFor: serverId(1) }, entries: [] });
  for (let index = 1; index <= LAST_INDEX; index += 1) await log.write({ entries: [logEntry(index)] });
  await log.close();
  await directory.release();
}

function logEntry(index: number): Entry {
  const command: Command =
    index === 1
      ? { type: 'attach', secretHash: new Uint8Array(32), session: 0, timeoutMs: 10_000, label: '' }
      : { type: 'create', path: `/n${index}`, data: new Uint8Array(NODE_BYTES), mode: CreateMode.persistent };
  const [session, generation, number] = index === 1 ? [0, 1, 1] : [1, 1, index - 1];
  const header = { command: CommandType[command.type], session, generation, number, ackedUpTo: 0 };
  const data = encodeEntry(header, encodeCommand(command));
  return { index: logIndex(index), term: term(1), type: EntryType.command, data };
}

interface Outcome {
  readonly code: number | string;
  readonly stderr: string;
}

/** Starts a server on the directory; when it serves, waits until it leads, and stops it. */
async function start(data: string): Promise<Outcome & { readonly status?: unknown }> {
  const [client = 0, peer = 0] = await freePorts(2);
  const addresses = ['--client', `127.0.0.1:${client}`, '--peer', `127.0.0.1:${peer}`];
  const lockd = new LockdProcess(['--id', '1', '--cluster-id', 'e2e', ...addresses, '--data', data]);
  try {
    await lockd.servesOrEnds();
    let status: unknown;
    if (lockd.child.exitCode === null) {
      await until(async () => {
        status = await (await fetch(`http://127.0.0.1:${client}/status`)).json();
        return (status as { appliedIndex: number }).appliedIndex > LAST_INDEX;
      });
      lockd.kill('SIGTERM');
    }
    return { code: await lockd.ended(), stderr: lockd.stderr, status };
  } finally {
    lockd.kill('SIGKILL');
  }
}

async function inspect(data: string): Promise<Outcome & { readonly stdout: string }> {
  const lockd = new LockdProcess(['inspect', '--data', data]);
  return { code: await lockd.ended(), stderr: lockd.stderr, stdout: lockd.stdout };
}

/** Every file with its content, sockets left out. */
function contentOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
    })
    .toSorted();
}

/** Writes over the file, at a distance from its start, or from its end when negative. */
function overwrite(path: string, at: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, bytes, 0, bytes.length, at < 0 ? fstatSync(file).size + at : at);
  } finally {
    closeSync(file);
  }
}

function flipBit(path: string, at: number): void {
  const file = openSync(path, 'r');
  const byte = new Uint8Array(1);
  readSync(file, byte, 0, 1, at);
  closeSync(file);
  overwrite(
    path,
    at,
    byte.map((value) => value ^ 0x10),
  );
}

function usedBytes(path: string): number {
  return readFileSync(path).findLastIndex((byte) => byte !== 0) + 1;
}

interface Place {
  readonly data: string;
  /** Paths of the segments. */
  readonly logs: readonly [string, string, string, string];
  readonly identity: string;
}

function copyOfIntact(name: string): Place {
  const data = join(root, name.replaceAll(/\W+/g, '-'));
  cpSync(intact, data, { recursive: true });
  const path = (at: number): string => join(data, 'group-0', segments[at] ?? 'none');
  return { data, logs: [path(0), path(1), path(2), path(3)], identity: join(data, 'identity.json') };
}

describe('a server on a damaged data directory', () => {
  it.each<[string, (place: Place) => void, number, RegExp]>([
    [
      'with a flipped bit before a valid batch',
      ({ logs }) => flipBit(logs[3], 60),
      67,
      /000000000004-\d+\.wal is damaged at byte 0: the checksum of a batch is wrong, before a valid batch at byte \d+/,
    ],
    [
      'with a flipped bit in the middle of the log',
      ({ logs }) => flipBit(logs[1], 2_000),
      67,
      /000000000002-\d+\.wal is damaged at byte 0: the checksum of a batch is wrong, and there are later segments/,
    ],
    [
      'with bytes that are no frame in the middle',
      ({ logs }) => overwrite(logs[2], usedBytes(logs[2]) - 3_000, Buffer.from('not a frame')),
      67,
      /000000000003-\d+\.wal is damaged at byte \d+: /,
    ],
    [
      'without its first segment',
      ({ logs }) => rmSync(logs[0]),
      67,
      /000000000002-\d+\.wal is damaged at byte 0: segment 1, which comes before it, is missing/,
    ],
    [
      'without a segment in the middle',
      ({ logs }) => rmSync(logs[1]),
      67,
      /000000000003-\d+\.wal is damaged at byte 0: segment 2, which comes before it, is missing/,
    ],
    [
      'without its last segment',
      ({ logs }) => rmSync(logs[3]),
      67,
      /group-0 is damaged at byte 0: segment 4 is missing, and the log had got to segment 4/,
    ],
    [
      'with zeros for its last segment',
      ({ logs }) => overwrite(logs[3], 0, new Uint8Array(SEGMENT_BYTES)),
      67,
      /000000000004-\d+\.wal is damaged at byte 0: zeros where it began with a batch/,
    ],
    [
      'with an empty file for a segment',
      ({ logs }) => truncateSync(logs[2], 0),
      67,
      /000000000003-\d+\.wal is damaged at byte 0: it has been cut to 0 bytes/,
    ],
    [
      'with a foreign file that claims to be a segment',
      ({ data }) => writeFileSync(join(data, 'group-0', 'copy.wal'), 'hello'),
      67,
      /copy\.wal is damaged at byte 0: its name is not one that a log segment can have/,
    ],
    [
      'without any segment',
      ({ data }) => rmSync(join(data, 'group-0'), { recursive: true }),
      67,
      /group-0 is damaged at byte 0: every segment of the log is missing/,
    ],
    [
      'with half an identity',
      ({ identity }) => truncateSync(identity, 40),
      67,
      /identity\.json is damaged: it is not JSON\. Restore it from a copy/,
    ],
    [
      'without its identity',
      ({ identity }) => rmSync(identity),
      67,
      /has a log with records but no identity\.json: restore that file, or replace the server/,
    ],
    [
      'of a later format',
      ({ identity }) =>
        writeFileSync(identity, readFileSync(identity, 'utf8').replace('"formatVersion": 1', '"formatVersion": 3')),
      70,
      /identity\.json has format version 3, and this program reads up to version 2: start the version of the program that wrote it/,
    ],
  ])(
    '%s does not start, says what is wrong and what to do, and changes nothing',
    async (name, damage, code, message) => {
      const place = copyOfIntact(name);
      damage(place);
      const before = contentOf(place.data);

      const started = await start(place.data);
      expect(started.code, started.stderr).toBe(code);
      expect(started.stderr).toMatch(message);
      if (message.source.includes('is damaged at byte'))
        expect(started.stderr).toContain('replace the server by a new one');
      expect(contentOf(place.data)).toEqual(before);

      const inspected = await inspect(place.data);
      expect(inspected.code).toBe(code);
      const [, reason = message.source] = /at byte (?:0|\\d\+): (.*)$/.exec(message.source) ?? [];
      expect(inspected.stdout + inspected.stderr).toMatch(new RegExp(reason));
      expect(contentOf(place.data)).toEqual(before);
    },
  );

  it('is refused when it has other files and no identity, which are left alone', async () => {
    const data = join(root, 'foreign');
    mkdirSync(data);
    writeFileSync(join(data, 'thesis.tex'), 'hello');
    const before = contentOf(data);
    for (const { code, stderr } of [await start(data), await inspect(data)]) {
      expect(code).toBe(2);
      expect(stderr).toContain('no identity.json, so it is not a data directory');
    }
    expect(contentOf(data)).toEqual(before);
  });
});

describe('a server on a data directory', () => {
  const everything = { role: 'leader', nodes: 3 + LAST_INDEX - 1 };

  it('that is whole finds everything, whatever else lies in it', async () => {
    const { data } = copyOfIntact('whole');
    writeFileSync(join(data, 'group-0', 'notes.txt'), 'hello');
    writeFileSync(join(data, 'README'), 'hello');
    expect(await inspect(data)).toMatchObject({ code: 0, stdout: expect.stringContaining('last index 9, of term 1') });
    expect(await start(data)).toMatchObject({ code: 0, status: everything });
    expect(readFileSync(join(data, 'group-0', 'notes.txt'), 'utf8')).toBe('hello');
  });

  it.each<[string, (path: string) => void]>([
    ['garbage behind the last batch', (path) => overwrite(path, usedBytes(path) + 16, Buffer.alloc(500, 0xa5))],
    ['half a batch at the end', (path) => overwrite(path, usedBytes(path) + 8, readFileSync(path).subarray(0, 900))],
  ])('with %s cuts that, says so, and votes', async (name, damage) => {
    const { data, logs } = copyOfIntact(name);
    damage(logs[3]);
    const before = contentOf(data);
    const inspected = await inspect(data);
    expect(inspected.code).toBe(0);
    expect(inspected.stdout).toMatch(/torn tail: \d+ bytes at \d+ of .*never acknowledged; the next start cuts them/);
    expect(contentOf(data)).toEqual(before);
    const started = await start(data);
    expect(started).toMatchObject({ code: 0, status: everything });
    expect(started.stderr).toMatch(/"file":".*000000000004-\d+\.wal".*cut a write that was never acknowledged/);
  });
});
