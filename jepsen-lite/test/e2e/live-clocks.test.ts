import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@holdfast/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock, type FakedClocks } from '../../src/targets/live/clocks/fake-clock.ts';
import { Child } from '../support/live/child.ts';
import { Servers } from '../support/live/servers.ts';
import { until } from '../support/live/until.ts';

const READER = fileURLToPath(new URL('../support/live/clock-reader.mjs', import.meta.url));
/** How far apart two looks at the same clock may be: the machine's true time is known in steps of 10 ms. */
const NEAR_MS = 150;

interface Clocks {
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly lateMs: number;
  /** The machine's true time, however late the line is read. */
  readonly uptimeMs: number;
}

interface Seen extends Clocks {
  /** What the machine's wall clock was then. */
  readonly realMs: number;
}

let directory: string;
let struck: string[];
let clock: FakeClock;
let reader: Child | undefined;
let servers: Servers | undefined;
let client: Client | undefined;

const problem = FakeClock.problem();
if (problem !== undefined) process.stderr.write(`live-clocks.test.ts is skipped: ${problem}\n`);
const unless = problem === undefined ? '' : ` (skipped: ${problem})`;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'live-clocks-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

beforeEach(() => {
  struck = [];
  reader = undefined;
  servers = undefined;
  client = undefined;
});

afterEach(async () => {
  await reader?.kill();
  await servers?.killAll();
  await client?.close();
  clock?.close();
});

let made = 0;

function makeClock(clocks: FakedClocks): FakeClock {
  made += 1;
  clock = new FakeClock({ directory, name: `${made}`, clocks, struck: (effect) => struck.push(effect) });
  return clock;
}

async function startReader(): Promise<Child> {
  reader = new Child([READER], clock.environment());
  await clock.started(reader.pid);
  await look();
  return reader;
}

/** When the machine started, by its wall clock. */
function bootMs(): number {
  return Date.now() - 1_000 * Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
}

/** The next look of the process at its clocks. */
async function look(): Promise<Seen> {
  const [from, since] = [reader?.lines.length ?? 0, Date.now()];
  const seen = (): Seen[] =>
    (reader?.lines.slice(from) ?? []).map((line) => {
      const clocks = JSON.parse(line) as Clocks;
      return { ...clocks, realMs: bootMs() + clocks.uptimeMs };
    });
  // What is read now may have been printed before.
  await until(() => seen().some(({ realMs }) => realMs > since + 20), 'a look at the clocks');
  const [last] = seen().slice(-1);
  if (last === undefined) throw new Error('it has not looked');
  return last;
}

/** How fast the clocks of the process are, over a second. */
async function rates(): Promise<{ readonly wall: number; readonly monotonic: number }> {
  const [first, end] = [await look(), performance.now() + 1_000];
  let last = first;
  while (performance.now() < end) last = await look();
  const realMs = last.realMs - first.realMs;
  return { wall: (last.wallMs - first.wallMs) / realMs, monotonic: (last.monotonicMs - first.monotonicMs) / realMs };
}

describe.skipIf(problem !== undefined)(`the wall clock of one process${unless}`, () => {
  it('keeps no process from ending by a signal, whatever that is at', async () => {
    makeClock('wall');
    for (let n = 0; n < 20; n += 1) {
      const program = "console.log('busy'); for (;;) Buffer.allocUnsafeSlow(100_000)";
      const env = { ...process.env, ...clock.environment() };
      // One that hangs is killed, and so ends otherwise.
      const limit = { timeout: 10_000, killSignal: 'SIGKILL' } as const;
      const child = spawn(process.execPath, ['-e', program], { env, stdio: ['ignore', 'pipe', 'inherit'], ...limit });
      await once(child.stdout, 'data');
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await ended).toEqual([null, 'SIGTERM']);
    }
  });

  it('jumps while it runs, both ways, and its timers notice nothing', async () => {
    makeClock('wall');
    const child = await startReader();
    for (const byMs of [60_000, -90_000]) {
      struck.length = 0;
      const before = await look();
      clock.jumpWall(byMs);
      await until(() => struck.length > 0, 'it has read of its jump');
      const after = await look();
      expect(after.wallMs - before.wallMs - (after.realMs - before.realMs)).toBeCloseTo(byMs, -Math.log10(NEAR_MS));
      const passedMs = after.realMs - before.realMs;
      expect(Math.abs(after.monotonicMs - before.monotonicMs - passedMs)).toBeLessThan(NEAR_MS);
      expect(struck).toEqual(['wall-jump']);
    }
    const last = await look();
    expect(Math.abs(last.wallMs - last.realMs - clock.aheadMs)).toBeLessThan(NEAR_MS);
    expect(child.stderr).toBe('');
  });

  it('drifts alone', async () => {
    makeClock('wall');
    await startReader();
    clock.setRate('wall', 2);
    await until(() => struck.length > 0, 'it has read of its rate');
    const fast = await rates();
    expect(fast.wall).toBeGreaterThan(1.7);
    expect(fast.monotonic).toBeLessThan(1.3);
    const ahead = clock.aheadMs;
    expect(ahead).toBeGreaterThan(1_000);
    clock.setRate('wall', 1);
    const after = await look();
    // What it gained it keeps.
    expect(Math.abs(after.wallMs - after.realMs - clock.aheadMs)).toBeLessThan(NEAR_MS);
    expect(clock.aheadMs).toBeGreaterThanOrEqual(ahead - 1);
    expect(struck).toEqual(['clock-rate']);
  });

  it('goes to and fro, and is right again', async () => {
    makeClock('wall');
    await startReader();
    await clock.strobe(3_600_000, 200, 2_000);
    expect(clock.aheadMs).toBeCloseTo(0, 3);
    expect(struck.length).toBeGreaterThan(4);
    const after = await look();
    expect(Math.abs(after.wallMs - after.realMs)).toBeLessThan(NEAR_MS);
    const seen = (reader?.lines ?? []).map((line) => (JSON.parse(line) as Clocks).wallMs);
    expect(Math.max(...seen) - Math.min(...seen)).toBeGreaterThan(3_600_000);
  });

  it('stays ahead when the process is started again', async () => {
    makeClock('wall');
    await startReader();
    clock.jumpWall(60_000);
    await reader?.kill();
    await startReader();
    const after = await look();
    expect(Math.abs(after.wallMs - after.realMs - 60_000)).toBeLessThan(NEAR_MS);
    clock.reset();
    await until(async () => {
      const { wallMs, realMs } = await look();
      return Math.abs(wallMs - realMs) < NEAR_MS;
    }, 'it is right again');
  });

  it('strikes a process that is stopped only when it goes on', async () => {
    makeClock('wall');
    const child = await startReader();
    child.process.kill('SIGSTOP');
    await until(() => / T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8')), 'it is stopped');
    clock.jumpWall(60_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(struck).toEqual([]);
    child.process.kill('SIGCONT');
    await until(() => struck.length > 0, 'it has read of its jump');
  });
});

describe.skipIf(problem !== undefined)(`all clocks of one process${unless}`, () => {
  it('drift together, never back, and its timers with them', async () => {
    makeClock('both');
    const child = await startReader();
    for (const rate of [2, 0.5, 1.01, 0.99]) {
      clock.setRate('monotonic', rate);
      const { wall, monotonic } = await rates();
      const within = rate === 2 || rate === 0.5 ? 0.3 : 0.15;
      expect(Math.abs(monotonic - rate), `${rate}`).toBeLessThan(within);
      expect(Math.abs(wall - monotonic)).toBeLessThan(0.05);
    }
    const seen = child.lines.map((line) => (JSON.parse(line) as Clocks).monotonicMs);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(struck).toEqual(['clock-rate', 'clock-rate', 'clock-rate', 'clock-rate']);
  });

  it('cannot jump, and have one rate', () => {
    makeClock('both');
    expect(() => clock.jumpWall(1_000)).toThrow(/all clocks of this process would jump/);
    expect(() => clock.setRate('wall', 2)).toThrow(/not started for another rate of its wall clock/);
    expect([clock.can('wall'), clock.can('monotonic')]).toEqual([false, true]);
    makeClock('wall');
    expect(() => clock.setRate('monotonic', 2)).toThrow(/not started for another rate of its monotonic clock/);
  });
});

describe.skipIf(problem !== undefined)(`a real server whose clocks are wrong${unless}`, () => {
  it('keeps its sessions when its wall clock jumps by a day, to and fro', async () => {
    makeClock('wall');
    servers = await Servers.start([join(directory, 'jumps')], [clock.environment()]);
    await clock.started(servers.pid(1));
    client = await servers.connect(5_000);
    const held = await client.lock('a').acquire();
    const stamps: number[] = [];
    for (const byMs of [86_400_000, -2 * 86_400_000, 86_400_000]) {
      struck.length = 0;
      clock.jumpWall(byMs);
      // It looks at its wall clock only to stamp what it writes.
      const { stat } = await client.nodes.create('/at', new Uint8Array(), { sequential: true });
      await until(() => struck.length > 0, 'it has read of its jump');
      // Stamps never go back, though the clock does.
      stamps.push(stat.ctime);
      await held.verify();
    }
    expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
    expect(stamps.at(-1)).toBeGreaterThan(Date.now() + 80_000_000);
    held.assertHeld();
  });

  it.each([1.01, 0.99])('keeps its sessions when all its clocks run at %f of the time', async (rate) => {
    makeClock('both');
    servers = await Servers.start([join(directory, `rate-${rate}`)], [clock.environment()]);
    await clock.started(servers.pid(1));
    clock.setRate('monotonic', rate);
    client = await servers.connect(2_000);
    const held = await client.lock('a').acquire();
    await until(() => struck.length > 0, 'it has read of its rate');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await held.verify();
    held.assertHeld();
  });
});

describe.skipIf(problem !== undefined)(`what libfaketime leaves behind${unless}`, () => {
  it('is gone when the process that was killed has', async () => {
    makeClock('wall');
    const child = await startReader();
    const remains = (): string[] => readdirSync('/dev/shm').filter((name) => name.endsWith(`_${child.pid}`));
    expect(remains()).toHaveLength(2);
    await child.kill();
    clock.close();
    expect(remains()).toEqual([]);
    expect(existsSync(join(directory, `${made}.faketime`))).toBe(false);
  });
});
