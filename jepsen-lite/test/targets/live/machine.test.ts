import type { ProcessExit } from '@holdfast/ensemble';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Machine, type Running } from '../../../src/targets/live/processes/machine.ts';

afterEach(() => vi.useRealTimers());

/** A program that ends as it is told; one whose disk hangs ends by nothing. */
function world(onTerminate: ProcessExit = { code: 0, signal: null }, hangs = false) {
  const effects: string[] = [];
  const failures: string[] = [];
  let end: (exit: ProcessExit) => void = () => undefined;
  let serves = true;
  const launch = (): Running => {
    const exited = new Promise<ProcessExit>((resolve) => (end = resolve));
    return {
      pid: undefined,
      exited,
      kill: () => {
        if (!hangs) end({ code: null, signal: 'SIGKILL' });
      },
      terminate: () => end(onTerminate),
      pause: () => undefined,
      resume: () => undefined,
    };
  };
  const machine = new Machine({
    host: 's1',
    launch,
    serves: async () => await Promise.resolve(serves),
    effect: (effect) => effects.push(effect),
    down: () => undefined,
    failed: (name, message) => failures.push(`${name}: ${message}`),
  });
  const exits = async (exit: ProcessExit): Promise<void> => {
    end(exit);
    await new Promise(setImmediate);
  };
  return { machine, effects, failures, exits, setServes: (value: boolean) => (serves = value) };
}

describe('the program on a host', () => {
  it('may end by a kill, and counts it and its restart as seen', async () => {
    const { machine, effects, failures } = world();
    await machine.start();
    await machine.kill();
    expect(machine.up).toBe(false);
    await machine.start();
    expect(machine.up).toBe(true);
    expect(effects).toEqual(['kill', 'restart']);
    expect(failures).toEqual([]);
  });

  it('fails the run when it does not end by a kill, as one may that waits for its disk', async () => {
    const waitMs = async (machine: Machine, failures: readonly string[]): Promise<number> => {
      const done = machine.kill();
      let waitedMs = 0;
      for (; failures.length === 0 && waitedMs < 60_000; waitedMs += 1_000) {
        await vi.advanceTimersByTimeAsync(1_000);
        await new Promise(setImmediate);
        await new Promise(setImmediate);
      }
      await done;
      return waitedMs;
    };
    const [prompt, waits] = [world(undefined, true), world(undefined, true)];
    await prompt.machine.start();
    await waits.machine.start();
    waits.machine.expectSlowDisk();
    // What has come in is looked at once more before the limit counts.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    expect(await waitMs(prompt.machine, prompt.failures)).toBe(5_000);
    expect(prompt.failures).toEqual(['processes-end-only-by-faults: s1 did not end within 5000 ms of SIGKILL']);
    expect(await waitMs(waits.machine, waits.failures)).toBe(30_000);
  });

  it('fails the run when it ends by itself', async () => {
    const { machine, effects, failures, exits } = world();
    await machine.start();
    await exits({ code: 69, signal: null });
    expect(failures).toEqual(['processes-end-only-by-faults: s1 ended: exit code 69']);
    expect(effects).toEqual([]);
  });

  it('fails the run when it was told to stop and ends with an error', async () => {
    const { machine, effects, failures } = world({ code: 68, signal: null });
    await machine.start();
    machine.terminate();
    await new Promise(setImmediate);
    expect(effects).toEqual([]);
    expect(failures).toEqual(['processes-end-only-by-faults: s1 ended: exit code 68']);
  });

  it('may end by the signal itself when it is told to stop before it serves, and only then', async () => {
    const signal = { code: null, signal: 'SIGTERM' } as const;
    const early = world(signal);
    early.setServes(false);
    const started = early.machine.start();
    early.machine.terminate();
    await started;
    expect(early.effects).toEqual(['terminated']);
    expect(early.failures).toEqual([]);

    const late = world(signal);
    await late.machine.start();
    late.machine.terminate();
    await new Promise(setImmediate);
    expect(late.failures).toEqual(['processes-end-only-by-faults: s1 ended: SIGTERM']);
  });

  it('may end of damage that a fault has done, once it has served, and is started again', async () => {
    const damaged = { code: 67, signal: null } as const;
    const refusing = world();
    await refusing.machine.start();
    await refusing.exits(damaged);
    expect(refusing.failures).toEqual(['processes-end-only-by-faults: s1 ended: exit code 67']);

    const { machine, failures, exits, setServes } = world();
    await machine.start();
    machine.expectDamage();
    await exits(damaged);
    expect(failures).toEqual([]);
    setServes(false);
    const again = machine.start();
    await exits(damaged);
    await again;
    expect(failures).toEqual(['processes-end-only-by-faults: s1 ended: exit code 67']);
  });

  it('is started again only when the one that was told to stop has ended', async () => {
    const { machine, effects, failures } = world();
    await machine.start();
    machine.terminate();
    await machine.start();
    expect(machine.starts).toBe(2);
    expect(effects).toEqual(['terminated', 'restart']);
    expect(failures).toEqual([]);
  });

  it('counts no restart when it is killed before it serves', async () => {
    const { machine, effects, setServes } = world();
    await machine.start();
    await machine.kill();
    setServes(false);
    const started = machine.start();
    await machine.kill();
    await started;
    expect(effects).toEqual(['kill', 'kill']);
  });

  it('that ends of its disk is started again when a fault was placed there, and fails the run when none was', async () => {
    const { machine, effects, failures, exits } = world();
    await machine.start();
    machine.expectDiskTrouble();
    await exits({ code: 68, signal: null });
    await expect.poll(() => machine.up, { timeout: 5_000 }).toBe(true);
    expect(failures).toEqual([]);
    expect(effects).toEqual(['restart']);
    const other = world();
    await other.machine.start();
    await other.exits({ code: 68, signal: null });
    expect(other.failures).toHaveLength(1);
  });

  it('is killed when everything heals where it has not read what was damaged, so that its next start does', async () => {
    const { machine, effects, failures } = world();
    await machine.start();
    await machine.mend();
    expect(machine.up).toBe(true);
    machine.noteDamage();
    await machine.mend();
    expect([machine.up, machine.mends]).toEqual([false, true]);
    machine.noteDamageRead();
    await machine.start();
    await machine.mend();
    expect(machine.up).toBe(true);
    expect(effects).toEqual(['kill', 'restart']);
    expect(failures).toEqual([]);
  });

  it('is at rest while it serves, and neither while it is down nor while it is stopped', async () => {
    const { machine } = world();
    expect(machine.atRest).toBe(false);
    await machine.start();
    expect(machine.atRest).toBe(true);
    await machine.pause();
    expect(machine.atRest).toBe(false);
    await machine.resume();
    await machine.kill();
    expect(machine.atRest).toBe(false);
  });

  it('is not at rest before it votes again with a log that was damaged', async () => {
    const { machine } = world();
    await machine.start();
    machine.noteDamage();
    expect([machine.lacksLog, machine.atRest]).toEqual([true, false]);
    machine.noteVotes();
    expect(machine.lacksLog).toBe(true);
    machine.noteDamageRead();
    expect([machine.lacksLog, machine.atRest]).toEqual([true, false]);
    machine.noteVotes();
    expect([machine.lacksLog, machine.atRest]).toEqual([false, true]);
  });

  it('is untouched when the harness has closed what it had open on its disk', async () => {
    const { machine } = world();
    let close: () => void = () => undefined;
    const touching = machine.touching(() => new Promise<void>((resolve) => (close = resolve)));
    let untouched = false;
    const waiting = machine.untouched().then(() => (untouched = true));
    await new Promise(setImmediate);
    expect(untouched).toBe(false);
    close();
    await Promise.all([touching, waiting]);
    expect(untouched).toBe(true);
  });

  it('starts only when its power is back', async () => {
    const { machine, effects } = world();
    await machine.start();
    let back: () => void = () => undefined;
    const dark = machine.withoutPower(async () => {
      await machine.kill();
      await new Promise<void>((resolve) => (back = resolve));
    });
    await new Promise(setImmediate);
    const started = machine.start();
    await new Promise(setImmediate);
    expect(machine.starts).toBe(1);
    back();
    await Promise.all([dark, started]);
    expect(machine.starts).toBe(2);
    expect(effects).toEqual(['kill', 'restart']);
  });
});
