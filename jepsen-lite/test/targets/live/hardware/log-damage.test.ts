import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EffectCounts } from '../../../../src/targets/effects.ts';
import { logDamage } from '../../../../src/targets/live/hardware/log-damage.ts';
import type { Machine } from '../../../../src/targets/live/processes/machine.ts';

/** The frame that closes a batch; the length of the batch follows: here, of itself alone. */
const COMMIT_FRAME = Buffer.from([5, 0x48, 0x46, 0x57, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0]);
const LOST = '{"level":50,"msg":"acknowledged log is lost: the log is cut there"}\n';

let directory: string;
let dataDirectory: string;
let wal: string;
let logFile: string;
let machine: ReturnType<typeof machineThatMayBeDamaged>;
let timers: (() => void)[];
let othersDecide: boolean;
let effects: EffectCounts;
let failures: unknown[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-damage-'));
  dataDirectory = directory;
  wal = join(directory, '1.wal');
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

async function flip(): Promise<void> {
  const damage = logDamage({
    machineOn: () => machine as unknown as Machine,
    dataDirectory: () => dataDirectory,
    logFile: () => logFile,
    mayDamage: () => othersDecide,
    effects,
    after: (_ms, action) => timers.push(action),
    failed: (error) => failures.push(error),
  });
  void damage.flipBit('s1', 0.5, 3);
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

function writeLog(bytes: number): Buffer {
  const content = Buffer.concat([Buffer.alloc(bytes, 7), COMMIT_FRAME]);
  writeFileSync(wal, content);
  return content;
}

const seen = (): number => effects.counts.get('flipped-bit-read') ?? 0;

describe('the damage of a live log', () => {
  it('is one bit of what was acknowledged, and has struck when the server says that a part is lost', async () => {
    appendFileSync(logFile, LOST);
    const before = writeLog(6_000);
    await flip();
    const after = readFileSync(wal);
    const changed = [...after.keys()].filter((at) => after[at] !== before[at]);
    expect(changed).toEqual([3_000]);
    expect((after[3_000] ?? 0) ^ (before[3_000] ?? 0)).toBe(1 << 3);
    expect(machine.damageExpected).toBe(true);
    await timePasses();
    expect([seen(), machine.unread]).toEqual([0, 1]);
    appendFileSync(logFile, LOST);
    await timePasses();
    expect([seen(), machine.unread]).toEqual([1, 0]);
    expect(timers).toEqual([]);
    expect(machine.touched).toBe(1);
  });

  it('is read at last by a server that is started anew for it', async () => {
    writeLog(6_000);
    await flip();
    expect([machine.killed, machine.started]).toEqual([0, 0]);
    await timePasses();
    await vi.waitFor(() => expect([machine.killed, machine.started]).toEqual([1, 1]));
  });

  it('leaves alone who has read it in time', async () => {
    writeLog(6_000);
    await flip();
    appendFileSync(logFile, LOST);
    await timePasses();
    await new Promise(setImmediate);
    expect([seen(), machine.killed]).toEqual([1, 0]);
  });

  it('waits for others who have lost what they acknowledged', async () => {
    const log = writeLog(6_000);
    othersDecide = false;
    await flip();
    expect([machine.unread, machine.touched]).toEqual([0, 0]);
    expect(readFileSync(wal)).toEqual(log);
    othersDecide = true;
    await timePasses();
    expect(machine.unread).toBe(1);
    expect(readFileSync(wal)).not.toEqual(log);
  });

  it('waits for a log that is long enough, and for a disk that is there', async () => {
    const short = writeLog(100);
    await flip();
    expect(readFileSync(wal)).toEqual(short);
    const long = writeLog(6_000);
    machine.powerless = true;
    await timePasses();
    expect(readFileSync(wal)).toEqual(long);
    machine.powerless = false;
    await timePasses();
    expect(readFileSync(wal)).not.toEqual(long);
    expect(failures).toEqual([]);
  });

  it('is not done any more once everything heals: nobody would read it', async () => {
    const short = writeLog(100);
    await flip();
    machine.mends = true;
    const long = writeLog(6_000);
    for (const action of timers.splice(0)) action();
    await new Promise(setImmediate);
    expect([timers.length, machine.unread]).toEqual([0, 0]);
    expect(readFileSync(wal)).toEqual(long);
    expect(short.length).toBeLessThan(long.length);
  });

  it('waits for the log where it is not there', async () => {
    dataDirectory = join(directory, 'data');
    await flip();
    mkdirSync(dataDirectory);
    wal = join(dataDirectory, '1.wal');
    const log = writeLog(6_000);
    await timePasses();
    expect(readFileSync(wal)).not.toEqual(log);
    expect(failures).toEqual([]);
  });

  it('is the failure of the run when it cannot be done', async () => {
    dataDirectory = wal;
    writeLog(6_000);
    await flip();
    expect(failures).toMatchObject([{ code: 'ENOTDIR' }]);
  });
});
