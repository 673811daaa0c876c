import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  EntryType,
  logIndex,
  NO_SERVER,
  openDataDirectory,
  openWriteAheadLog,
  serverId,
  term,
  type DataDirectory,
  type Entry,
  type LogStore,
} from '@holdfast/raft';
import { silentLogger } from '@holdfast/runtime';
import { nodeDisk, nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogArchive } from '../../../../src/targets/live/oracle/log-archive.ts';

const SEGMENT_BYTES = 4_096;
const MEMBER = { id: serverId(1), peerAddress: '127.0.0.1:7200' };

let path: string;
let directory: DataDirectory;
let log: LogStore;
let archive: LogArchive;

async function open(): Promise<void> {
  const world = { disk: nodeDisk(), random: nodeRuntime({ logger: silentLogger }).random, logger: silentLogger };
  const identity = { clusterId: 'archived', serverId: serverId(1) };
  const sizes = { segmentBytes: SEGMENT_BYTES };
  directory = await openDataDirectory({ path, ...identity, members: [MEMBER], ...sizes }, world);
  const { incarnation, logDirectory } = directory;
  log = await openWriteAheadLog({ ...identity, incarnation, directory: logDirectory, ...sizes }, world);
}

async function close(): Promise<void> {
  await log.close();
  await directory.release();
}

beforeEach(async () => {
  path = join(mkdtempSync(join(tmpdir(), 'holdfast-archive-')), 'data');
  archive = new LogArchive(new Map([['s1', path]]), (error) => {
    throw error;
  });
  // Nothing is there yet.
  await archive.read();
  await open();
});

afterEach(async () => {
  await close();
  rmSync(dirname(path), { recursive: true, force: true });
});

async function write(from: number, to: number, ofTerm = 1): Promise<void> {
  const hardState = { term: term(ofTerm), votedFor: NO_SERVER };
  for (let index = from; index <= to; index += 1) {
    const data = Buffer.from(`${index} of term ${ofTerm}`.padEnd(200));
    const entry: Entry = { index: logIndex(index), term: term(ofTerm), type: EntryType.command, data };
    await log.write({ hardState, truncateFrom: logIndex(index), entries: [entry] });
  }
}

function archived(): (string | undefined)[] {
  return archive.entriesOf('s1').map((entry) => entry && Buffer.from(entry.data).toString().trim());
}

function expected(to: number, ofTerm: (index: number) => number = () => 1): string[] {
  return Array.from({ length: to }, (_, n) => `${n + 1} of term ${ofTerm(n + 1)}`);
}

describe('the archive of a log', () => {
  it('has what was written since it was read last, over many segments', async () => {
    for (const [from, to] of [
      [1, 3],
      [4, 60],
      [61, 61],
    ] as const) {
      await write(from, to);
      await archive.read();
      expect(archived()).toEqual(expected(to));
    }
  });

  it('keeps what the server forgets when a snapshot holds it', async () => {
    await write(1, 100);
    await archive.read();
    const meta = { index: logIndex(100), term: term(1), configuration: new Uint8Array(0), origin: 'taken' } as const;
    await (await log.createSnapshot(meta)).finish();
    await log.compact(logIndex(100));
    expect(log.firstIndex).toBeGreaterThan(50);
    await write(101, 110);
    await archive.read();
    expect(archived()).toEqual(expected(110));
  });

  it('has the later entry where the log was cut and written anew', async () => {
    await write(1, 30);
    await archive.read();
    await write(20, 40, 2);
    await archive.read();
    expect(archived()).toEqual(expected(40, (index) => (index < 20 ? 1 : 2)));
  });

  it('is read again from the beginning of the segment when the server starts anew, whatever came in place of what it had', async () => {
    await write(1, 30);
    await archive.read();
    await close();
    archive.rewind('s1');
    await archive.read();
    await open();
    await write(31, 35);
    await archive.read();
    expect(archived()).toEqual(expected(35));
  });
});
