import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../../src/nemeses/index.ts';
import type { Capabilities } from '../../../../src/nemeses/target.ts';
import type { Volume, VolumeFault } from '../../../../src/targets/live/disks/volume.ts';
import { clocksFor } from '../../../../src/targets/live/hardware/clock-faults.ts';
import { diskCapabilities } from '../../../../src/targets/live/hardware/disk-faults.ts';
import type { Machine } from '../../../../src/targets/live/processes/machine.ts';

const jump: Fault = { kind: 'wall-jump', atMs: 1, host: 's1', byMs: 5 };
const rate = (clock: 'wall' | 'monotonic'): Fault => ({
  kind: 'clock-rate',
  atMs: 1,
  forMs: 1,
  host: 's1',
  clock,
  rate: 1.01,
});

describe('clocks of a run', () => {
  it('are faked as its faults need them, and else not at all', () => {
    expect(clocksFor([])).toBeUndefined();
    expect(clocksFor([{ kind: 'kill', atMs: 1, forMs: 1, hosts: ['s1'] }])).toBeUndefined();
    expect(clocksFor([rate('wall')])).toBe('wall');
    expect(clocksFor([rate('wall'), rate('monotonic')])).toBe('both');
    // None of those that drift together can jump.
    expect(clocksFor([rate('monotonic'), jump])).toBe('wall');
  });
});

describe('disks of a run', () => {
  const log: string[] = [];
  const act = (what: string) => async (): Promise<void> => {
    log.push(what);
    await Promise.resolve();
  };
  const volume = {
    powerLoss: act('power loss'),
    remount: act('remount'),
    hang: act('hang'),
    slow: act('slow'),
    fill: act('fill'),
  } as unknown as Volume;
  const machine = (pid: number | undefined, powerless = false) =>
    ({
      pid,
      up: pid !== undefined,
      powerless,
      kill: act('kill'),
      untouched: act('untouched'),
      expectSlowDisk: () => log.push('may wait'),
      expectDiskTrouble: () => log.push('may fail'),
      withoutPower: async (action: () => Promise<void>) => {
        log.push('dark');
        await action();
        log.push('light');
      },
    }) as unknown as Machine;
  let powerless = false;
  const pids: Readonly<Record<string, number | undefined>> = { s1: 7, s2: undefined, c1: 9 };
  const options = (lacks: readonly VolumeFault[] = []) => ({
    volumes: new Map([
      ['s1', volume],
      ['s2', volume],
    ]),
    lacks: new Map(lacks.map((fault) => [fault, 'not here'] as const)),
    machineOn: (host: string) => machine(pids[host], powerless),
  });
  const strike = async (how: () => unknown): Promise<string[]> => {
    log.length = 0;
    await how();
    return [...log];
  };

  it('lose their power, and are back before the server may start again', async () => {
    const { power } = diskCapabilities(options()) ?? {};
    expect(await strike(() => power?.fail('s1', 'none'))).toEqual([
      'dark',
      'power loss',
      'kill',
      'untouched',
      'remount',
      'light',
    ]);
  });

  it('do nothing to a server that is down; a client without one is killed', async () => {
    const { power } = diskCapabilities(options()) ?? {};
    expect(await strike(() => power?.fail('s2', 'none'))).toEqual([]);
    expect(await strike(() => power?.fail('c1', 'none'))).toEqual(['kill']);
  });

  it('lose no power that they have lost already', async () => {
    const { power } = diskCapabilities(options()) ?? {};
    powerless = true;
    expect(await strike(() => power?.fail('s1', 'none'))).toEqual([]);
    powerless = false;
    expect(await strike(() => power?.fail('s1', 'none'))).not.toEqual([]);
  });

  it('say what a server may tell of them: of one that is slow or hangs, that it waits; of a full one, that it fails', async () => {
    const { disks } = diskCapabilities(options()) as Pick<Capabilities, 'disks'>;
    expect(await strike(() => disks?.slow('s1', { minMs: 1, maxMs: 2 }))).toEqual(['may wait', 'slow']);
    expect(await strike(() => disks?.hang('s1', 500))).toEqual(['may wait', 'hang']);
    expect(await strike(() => disks?.fill('s1'))).toEqual(['may fail', 'fill']);
    expect(await strike(() => disks?.hang('s2', 500))).toEqual([]);
  });

  it('leave out what they cannot suffer', () => {
    expect(Object.keys(diskCapabilities(options()) ?? {})).toEqual(['power', 'disks']);
    expect(Object.keys(diskCapabilities(options(['failNext'])) ?? {})).toEqual(['power']);
    expect(diskCapabilities(options(['powerLoss']))).toBeUndefined();
  });
});
