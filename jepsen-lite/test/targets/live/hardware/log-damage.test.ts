import { appendFileSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EffectCounts } from '../../../../src/targets/effects.ts';
import { logDamage } from '../../../../src/targets/live/hardware/log-damage.ts';
import type { Machine } from '../../../../src/targets/live/processes/machine.ts';
import { WrittenLog } from '../../../support/written-log.ts';

const LOST = '{"level":50,"msg":"acknowledged log is lost: the log is cut there"}\n';

let directory: string;
let dataDirectory: string;
let log: WrittenLog;
let logFile: string;
let machine: ReturnType<typeof machineThatMayBeDamaged>;
let timers: (() => void)[];
let othersDecide: boolean;
let effects: EffectCounts;
let failures: unknown[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-damage-'));
  dataDirectory = join(directory, 'data');
  log = new WrittenLog(dataDirectory);
  logFile = join(directory, 's1.log');
  writeFileSync(logFile, '');
  timers = [];
  othersDecide = true;
  failures = [];
  effects = new EffectCounts();
  machine = machineThatMayBeDamaged();
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function machineThatMayBeDamaged() {
  return {
    powerless: false,
    mends: false,
    damageExpected: false,
    unread: 0,
    touched: 0,
    killed: 0,
    started: 0,
    expectDamage() {
      this.damageExpected = true;
    },
    noteDamage() {
      this.unread += 1;
    },
    noteUndamaged() {
      this.unread -= 1;
    },
    noteDamageRead() {
      this.unread -= 1;
    },
    async kill() {
      this.killed += 1;
      await Promise.resolve();
    },
    async start() {
      this.started += 1;
      await Promise.resolve();
    },
    async touching<T>(work: () => Promise<T>): Promise<T> {
      this.touched += 1;
      return await work();
    },
  };
}

async function flip(at = 0.5): Promise<void> {
  const damage = logDamage({
    machineOn: () => machine as unknown as Machine,
    dataDirectory: () => dataDirectory,
    logFile: () => logFile,
    mayDamage: () => othersDecide,
    effects,
    after: (_ms, action) => timers.push(action),
    failed: (error) => failures.push(error),
  });
  void damage.flipBit('s1', at, 3);
  await looked();
}

async function timePasses(): Promise<void> {
  for (const action of timers.splice(0)) action();
  if (seen() === 0) await looked();
}

/** What it does takes its time, and ends with a timer. */
async function looked(): Promise<void> {
  await vi.waitFor(() => expect(timers.length + failures.length).toBeGreaterThan(0));
}

type Segments = WrittenLog['segments'];

/** Long enough to be damaged. */
async function writeLog(): Promise<Segments> {
  await log.write(1, 40);
  return log.segments;
}

function changedBits(before: Segments, after: Segments): { readonly segment: string; readonly offset: number }[] {
  return [...after].flatMap(([segment, bytes]) =>
    [...bytes.keys()].flatMap((offset) => (bytes[offset] === before.get(segment)?.[offset] ? [] : { segment, offset })),
  );
}

const seen = (): number => effects.counts.get('flipped-bit-read') ?? 0;

describe('the damage of a live log', () => {
  it('is one bit of what was acknowledged, and has struck when the server says that a part is lost', async () => {
    appendFileSync(logFile, LOST);
    const before = await writeLog();
    await flip();
    const after = log.segments;
    const [place, ...others] = changedBits(before, after);
    expect(others).toEqual([]);
    const { segment, offset } = place ?? { segment: '', offset: 0 };
    expect((after.get(segment)?.[offset] ?? 0) ^ (before.get(segment)?.[offset] ?? 0)).toBe(1 << 3);
    expect(machine.damageExpected).toBe(true);
    await timePasses();
    expect([seen(), machine.unread]).toEqual([0, 1]);
    appendFileSync(logFile, LOST);
    await timePasses();
    expect([seen(), machine.unread]).toEqual([1, 0]);
    expect(timers).toEqual([]);
    expect(machine.touched).toBe(2);
  });

  it('is none of what a segment holds behind its last batch, from when it was another', async () => {
    await writeLog();
    const [name = ''] = log.segments.keys();
    // As long again, of a segment with another number.
    const other = new WrittenLog(join(directory, 'other'));
    await other.write(1, 200);
    const used = log.segments.get(name) ?? Buffer.alloc(0);
    const stale = other.segments.get(name) ?? Buffer.alloc(0);
    const end = used.findLastIndex((byte) => byte !== 0) + 1;
    const refilled = Buffer.concat([used.subarray(0, end), stale.subarray(end)]);
    copyFileSync(join(dataDirectory, 'identity.json'), join(directory, 'identity.json'));
    writeFileSync(join(dataDirectory, 'group-0', name), refilled);
    const before = log.segments;
    for (const at of [0.01, 0.5, 0.99]) {
      writeFileSync(join(dataDirectory, 'group-0', name), refilled);
      timers = [];
      await flip(at);
      const [changed, ...others] = changedBits(before, log.segments);
      expect(changed?.offset).toBeLessThan(end);
      expect(others).toEqual([]);
    }
  });

  it('is read at last by a server that is started anew for it', async () => {
    await writeLog();
    await flip();
    expect([machine.killed, machine.started]).toEqual([0, 0]);
    await timePasses();
    await vi.waitFor(() => expect([machine.killed, machine.started]).toEqual([1, 1]));
  });

  it('is made again while that server is down, since what was damaged may be gone by then', async () => {
    const before = await writeLog();
    await flip();
    machine.kill = async () => {
      for (const [name, bytes] of before) writeFileSync(join(dataDirectory, 'group-0', name), bytes);
      machine.killed += 1;
      await Promise.resolve();
    };
    await timePasses();
    await vi.waitFor(() => expect([machine.killed, machine.started]).toEqual([1, 1]));
    expect(changedBits(before, log.segments).length).toBe(1);
    appendFileSync(logFile, LOST);
    await timePasses();
    expect([seen(), machine.unread]).toEqual([1, 0]);
  });

  it('that is there still is not mended by that', async () => {
    const before = await writeLog();
    await flip();
    await timePasses();
    await vi.waitFor(() => expect(machine.started).toBe(1));
    expect(changedBits(before, log.segments).length).toBeGreaterThan(0);
  });

  it('leaves alone who has read it in time', async () => {
    await writeLog();
    await flip();
    appendFileSync(logFile, LOST);
    await timePasses();
    await new Promise(setImmediate);
    expect([seen(), machine.killed]).toEqual([1, 0]);
  });

  it('waits for others who have lost what they acknowledged', async () => {
    const before = await writeLog();
    othersDecide = false;
    await flip();
    expect([machine.unread, machine.touched]).toEqual([0, 0]);
    expect(changedBits(before, log.segments)).toEqual([]);
    othersDecide = true;
    await timePasses();
    expect(machine.unread).toBe(1);
    expect(changedBits(before, log.segments).length).toBe(1);
  });

  it('has not struck by what was said of another damage, for which it had to wait', async () => {
    await writeLog();
    othersDecide = false;
    await flip();
    appendFileSync(logFile, LOST);
    othersDecide = true;
    await timePasses();
    expect(machine.unread).toBe(1);
    await timePasses();
    expect([seen(), machine.unread]).toEqual([0, 1]);
    appendFileSync(logFile, LOST);
    await timePasses();
    expect([seen(), machine.unread]).toEqual([1, 0]);
  });

  it('waits for a log that is long enough, and for a disk that is there', async () => {
    await log.write(1, 2);
    const short = log.segments;
    await flip();
    expect(changedBits(short, log.segments)).toEqual([]);
    await log.write(3, 40);
    const long = log.segments;
    machine.powerless = true;
    await timePasses();
    expect(changedBits(long, log.segments)).toEqual([]);
    machine.powerless = false;
    await timePasses();
    expect(changedBits(long, log.segments).length).toBe(1);
    expect(failures).toEqual([]);
  });

  it('is not done any more once everything heals: nobody would read it', async () => {
    await log.write(1, 2);
    await flip();
    machine.mends = true;
    await log.write(3, 40);
    const long = log.segments;
    for (const action of timers.splice(0)) action();
    await new Promise(setImmediate);
    expect([timers.length, machine.unread]).toEqual([0, 0]);
    expect(changedBits(long, log.segments)).toEqual([]);
  });

  it('waits for the log where it is not there', async () => {
    await flip();
    const before = await writeLog();
    await timePasses();
    expect(changedBits(before, log.segments).length).toBe(1);
    expect(failures).toEqual([]);
  });

  it('is the failure of the run when it cannot be done', async () => {
    await writeLog();
    dataDirectory = join(dataDirectory, 'identity.json');
    await flip();
    expect(failures).toMatchObject([{ code: 'ENOTDIR' }]);
  });
});
