import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fsyncSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@holdfast/client';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { builtFile } from '../../src/patches/product.ts';
import type { Volume } from '../../src/targets/live/disks/volume.ts';
import { Volumes } from '../../src/targets/live/disks/volumes.ts';
import { Child } from '../support/live/child.ts';
import { Servers } from '../support/live/servers.ts';
import { until } from '../support/live/until.ts';

const WRITER = fileURLToPath(new URL('../support/live/writer.mjs', import.meta.url));
const HARNESS = fileURLToPath(new URL('../support/live/hanging-harness.mjs', import.meta.url));
const RECORD_BYTES = 1_500;
const SECTOR_BYTES = 512;
/** For a server that is down for long on a busy machine. */
const PATIENCE_MS = 100_000;

let directory: string;
let volumes: Volumes;
let struck: Map<string, number>;
let children: Child[];
let servers: Servers | undefined;
let client: Client | undefined;

/** Why these tests can't run here; found out at once, since a title must say it. */
const probe = await Volumes.open();
const [problem] = [...probe.lacks.values()];
await probe.close();
if (problem !== undefined) process.stderr.write(`live-disks.test.ts is skipped: ${problem}\n`);
const unless = problem === undefined ? '' : ` (skipped: ${problem})`;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'live-disks-'));
  volumes = await Volumes.open({ directory });
});

afterAll(async () => {
  await volumes.close();
  rmSync(directory, { recursive: true });
});

beforeEach(() => {
  struck = new Map();
  children = [];
  servers = undefined;
  client = undefined;
});

afterEach(async () => {
  for (const child of children) await child.kill();
  await servers?.killAll();
  await client?.close();
});

const made: string[] = [];

function makeVolume(): Promise<Volume> {
  const name = `disk-${made.push('')}`;
  return volumes.create(name, (effect, times) => struck.set(effect, (struck.get(effect) ?? 0) + times));
}

async function write(volume: Volume): Promise<Child> {
  const writer = new Child([WRITER, volume.path]);
  children.push(writer);
  await writer.saysMore(20);
  return writer;
}

function isFailure(line: string): boolean {
  return / E[A-Z]+$/.test(line);
}

/** The number of the last record that the writer was told is durable. */
function lastRecord(writer: Child): number {
  return Number(writer.lines.filter((line) => /^\d+$/.test(line)).at(-1));
}

/** How long each of those took that the writer calls long, in milliseconds. */
function slowWrites(writer: Child): number[] {
  return writer.lines.flatMap((line) => (line.startsWith('took ') ? Number(line.slice(5)) : []));
}

/** As the writer writes it: no byte is as if nothing had been written there. */
function content(number: number, bytes: number): Buffer {
  return Buffer.alloc(bytes, 1 + (number % 250));
}

function record(log: Buffer, number: number): Buffer {
  return log.subarray(number * RECORD_BYTES, (number + 1) * RECORD_BYTES);
}

/** For each sector of the file that a record touches: whether what the record has there is in the log, every byte of it. */
function sectorsKept(log: Buffer, number: number): boolean[] {
  const from = number * RECORD_BYTES;
  const sectors: boolean[] = [];
  for (let at = from; at < from + RECORD_BYTES;) {
    const end = Math.min(from + RECORD_BYTES, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES);
    sectors.push(log.subarray(at, end).equals(content(number, end - at)));
    at = end;
  }
  return sectors;
}

function expectRecords(volume: Volume, last: number): Buffer {
  const log = readFileSync(join(volume.path, 'log'));
  for (let number = 0; number <= last; number += 1) {
    expect(record(log, number), `record ${number}`).toEqual(content(number, RECORD_BYTES));
  }
  return log;
}

describe.skipIf(problem !== undefined)(`the disk of a server of its own${unless}`, () => {
  it('loses with its power what was not synced, content and names, and nothing else', async () => {
    // A sync of the writer may make durable what the harness left unsynced, just before the power fails.
    for (let losses = 1; !struck.has('unsynced-change-lost') && losses <= 10; losses += 1) {
      const volume = await makeVolume();
      const writer = await write(volume);
      await volume.powerLoss('none', writer.pid);
      await writer.says(/^write EIO$/);
      await writer.kill();
      await volume.remount();
      expect(struck.get('crash')).toBe(losses);
      expectRecords(volume, lastRecord(writer));
      const again = await write(volume);
      expect(lastRecord(again)).toBeGreaterThan(lastRecord(writer));
      await again.kill();
    }
    expect(struck.get('unsynced-change-lost')).toBe(1);
  });

  it('loses the name of a file, and a rename, that nobody made durable', async () => {
    const volume = await makeVolume();
    await volume.powerLoss('none');
    await volume.remount();
    expect(Object.fromEntries(struck)).toEqual({ 'unsynced-change-lost': 1, 'unsynced-name-lost': 1 });
  });

  it('is removed when its run ends while it comes back from a power failure', async () => {
    const ending = await Volumes.open({ directory });
    const volume = await ending.create('ending', () => undefined);
    await volume.powerLoss('none');
    await Promise.all([volume.remount(), ending.close()]);
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(volume.path.slice(0, -'/data'.length));
    expect(existsSync(volume.path)).toBe(false);
  });

  it('keeps everything when the power fails just after it was written out', async () => {
    const volume = await makeVolume();
    const writer = await write(volume);
    await volume.powerLoss('all', writer.pid);
    await writer.kill();
    await volume.remount();
    expectRecords(volume, lastRecord(writer));
    expect(Object.fromEntries(struck)).toEqual({ crash: 1 });
  });

  it('tears the write that was under way, sector by sector, and no other', async () => {
    const volume = await makeVolume();
    // Below one half the journal alone survives, and nothing is torn.
    for (let round = 0; !struck.has('unsynced-change-torn'); round += 1) {
      expect(round).toBeLessThan(40);
      const writer = await write(volume);
      await volume.powerLoss('random', writer.pid);
      await writer.kill();
      await volume.remount();
      const last = lastRecord(writer);
      const log = expectRecords(volume, last);
      if (!struck.has('unsynced-change-torn')) continue;
      const kept = sectorsKept(log, last + 1);
      expect(kept, `${last} ${record(log, last + 1).toString('hex')}`).toContain(true);
      expect(kept).toContain(false);
    }
  });

  it('hangs for as long as it is told, for those who write', async () => {
    const volume = await makeVolume();
    const writer = await write(volume);
    // Long enough for a process of a busy machine to have its turn and write.
    await volume.hang(1_000, writer.pid);
    await until(() => struck.has('sync-stalled'), 'a thread that waits');
    expect(struck.get('sync-stalled')).toBe(1);
    await writer.saysMore(5);
    expect(writer.lines.some(isFailure)).toBe(false);
  });

  it('is slow until it is not', async () => {
    const volume = await makeVolume();
    const writer = await write(volume);
    await volume.slow({ minMs: 40, maxMs: 60 }, writer.pid);
    // Judged by the kernel's waits and by the writer's own clock. What is read now may have been printed before, and on a busy machine
    // many writes are fast between two hangs.
    await until(() => (struck.get('sync-slowed') ?? 0) > 3, 'threads that wait, again and again');
    await until(() => slowWrites(writer).length > 3, 'writes that took long, again and again');
    await volume.slow(undefined, writer.pid);
    const count = struck.get('sync-slowed');
    await writer.saysMore(20);
    expect(struck.get('sync-slowed')).toBe(count);
  });

  it('loses its power while its slowness ends: neither waits for the other for ever', async () => {
    const volume = await makeVolume();
    for (let turn = 0; turn < 30; turn += 1) {
      await volume.slow({ minMs: 0, maxMs: 2 }, process.pid);
      // Waits for nothing: only where it is in its round is to be another each time.
      await delay(turn % 8);
      await Promise.all([volume.slow(undefined, process.pid), volume.powerLoss('none')]);
      await volume.remount();
    }
  });

  it.each([
    ['append', 'write EIO', 'write-failed'],
    ['sync', 'fdatasync EIO', 'sync-failed'],
    ['read', 'read EIO', 'read-failed'],
  ] as const)('fails the next %s, and then no more', async (operation, said, effect) => {
    const volume = await makeVolume();
    const writer = await write(volume);
    await volume.failNext(operation, writer.pid);
    await writer.says(new RegExp(`^${said}$`));
    await volume.heal();
    expect(Object.fromEntries(struck)).toEqual({ [effect]: 1 });
    // What failed before may be printed, or read, after.
    await until(
      () => writer.lines.length > 50 && !writer.lines.slice(-50).some(isFailure),
      'fifty lines without failure',
    );
  });

  it('lets go of a process whose calls were to fail, though what was to do that hangs', async () => {
    const volume = await makeVolume();
    const idle = spawn('sleep', ['60'], { stdio: 'ignore' });
    const pid = idle.pid ?? 0;
    const tracer = (): number => Number(/^TracerPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    await volume.failNext('append', pid);
    process.kill(tracer(), 'SIGSTOP');
    await volume.heal();
    expect(tracer()).toBe(0);
    idle.kill();
    await once(idle, 'exit');
  });

  it('is full until it is freed', async () => {
    const volume = await makeVolume();
    const writer = await write(volume);
    await volume.fill();
    expect(Object.fromEntries(struck)).toEqual({ 'no-space': 1 });
    await writer.says(/^write ENOSPC$/);
    await volume.free();
    const from = writer.lines.length;
    await writer.says(/^\d+$/, from);
  });

  it('is not full any more when its power is back, though what had freed it was lost with the power', async () => {
    const volume = await makeVolume();
    await volume.fill();
    const ballast = openSync(join(volume.path, '..', 'ballast'), 'r');
    fsyncSync(ballast);
    closeSync(ballast);
    await volume.powerLoss('none');
    await volume.remount();
    const writer = await write(volume);
    expect(writer.lines.filter(isFailure)).toEqual([]);
  });

  it('is filled, damaged and freed once it goes on, while it hangs, and holds up nobody but those who write', async () => {
    const volume = await makeVolume();
    const writer = await write(volume);
    await volume.hang(1_000, writer.pid);
    const filled = volume.fill();
    const freed = volume.free();
    // There is no log of a server, which takes as long to find out on any disk.
    expect(await volume.flipBit(0.5, 3)).toBe(false);
    expect(Object.fromEntries(struck)).toEqual({});
    await Promise.all([filled, freed]);
    expect(Object.fromEntries(struck)).toMatchObject({ 'no-space': 1 });
    const from = writer.lines.length;
    await writer.says(/^\d+$/, from);
    expect(existsSync(join(volume.path, '..', 'ballast'))).toBe(false);
  });

  it('is thawed when its harness dies, and cleared away by the next one', async () => {
    const left = mkdtempSync(join(tmpdir(), 'live-disks-left-'));
    const entry = builtFile('@holdfast/jepsen-lite', 'targets/live/disks/volumes.js').href;
    const harness = new Child([HARNESS, entry, WRITER, left]);
    children.push(harness);
    const [, pid = '', path = ''] = (await harness.says(/^hangs /)).split(' ');
    try {
      const log = join(path, 'log');
      const { length } = readFileSync(log);
      await harness.kill();
      await until(() => readFileSync(log).length > length + 2 * RECORD_BYTES, 'the writer goes on');
    } finally {
      process.kill(Number(pid), 'SIGKILL');
      const next = await Volumes.open({ directory: left });
      expect(existsSync(path)).toBe(false);
      await next.close();
    }
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(left);
    await until(() => !execFileSync('losetup', ['-a'], { encoding: 'utf8' }).includes(left), 'the loop device is free');
    rmSync(left, { recursive: true });
  });
});

async function create(paths: string[]): Promise<void> {
  const path = `/n${String(paths.length).padStart(4, '0')}`;
  await client?.nodes.create(path, new Uint8Array(500), { timeoutMs: PATIENCE_MS });
  paths.push(path);
}

describe.skipIf(problem !== undefined)(`a real server on a disk of its own${unless}`, () => {
  it('has everything that it acknowledged when the power failed while it wrote', async () => {
    const volume = await makeVolume();
    servers = await Servers.start([volume.path]);
    client = await servers.connect();
    const acknowledged: string[] = [];
    let stopping = false;
    const load = (async () => {
      while (!stopping) await create(acknowledged);
    })();
    for (const tear of ['none', 'random'] as const) {
      const enough = acknowledged.length + 100;
      await until(() => acknowledged.length >= enough, 'a hundred nodes more');
      await volume.powerLoss(tear, servers.pid(1));
      const before = [...acknowledged];
      await servers.killAll();
      await volume.remount();
      await servers.start(1);
      for (const path of before) expect(await client.nodes.exists(path), path).toBeDefined();
    }
    stopping = true;
    await load;
    expect(struck.get('crash')).toBe(2);
    expect(struck.get('unsynced-change-lost')).toBe(1);
  });

  it('refuses writes on a full disk, says why, and goes on when there is room', async () => {
    const volume = await makeVolume();
    servers = await Servers.start([volume.path]);
    client = await servers.connect();
    const paths: string[] = [];
    await create(paths);
    await volume.fill();
    const refusal = (): Promise<unknown> =>
      create(paths).then(
        () => undefined,
        (error: unknown) => error,
      );
    await expect.poll(refusal, { timeout: 60_000 }).toMatchObject({ code: 'DISK_FULL', indeterminate: false });
    await volume.free();
    await expect.poll(refusal, { timeout: 60_000 }).toBeUndefined();
    expect(servers.child(1).over).toBe(false);
  });

  it('does not start with a log that has a damaged bit, and says where it is', async () => {
    const volume = await makeVolume();
    servers = await Servers.start([volume.path]);
    client = await servers.connect();
    const paths: string[] = [];
    while (paths.length < 20) await create(paths);
    await servers.killAll();
    expect(await volume.flipBit(0.5, 3)).toBe(true);
    await expect(servers.start(1)).rejects.toThrow(/\.wal is damaged at byte \d+/);
  });
});

describe.skipIf(problem !== undefined)(`three real servers${unless}`, () => {
  it('go on without a leader whose disk hangs, and have it back afterwards', async () => {
    const disks = [await makeVolume(), await makeVolume(), await makeVolume()];
    servers = await Servers.start(disks.map(({ path }) => path));
    client = await servers.connect();
    const paths: string[] = [];
    await create(paths);
    const leader = await servers.leader();
    const before = await servers.status(leader);
    await disks[leader - 1]?.hang(60_000, servers.pid(leader));
    for (let n = 0; n < 5; n += 1) await create(paths);
    // Who waited is counted at the end of the hang.
    expect(struck.has('sync-stalled')).toBe(false);
    await disks[leader - 1]?.heal();
    expect(struck.get('sync-stalled')).toBeGreaterThan(0);
    await until(async () => {
      const [now, then] = [await servers?.status(leader), before?.appliedIndex ?? 0];
      return (now?.appliedIndex ?? 0) >= then + 5;
    }, 'the one whose disk hung catches up');
  });
});
