/** Disks of the servers and of the store as capabilities: power that fails, disks that are slow, hang, fail or are full. */

import type { Capabilities } from '../../../nemeses/target.ts';
import type { Volume, VolumeFault } from '../disks/volume.ts';
import type { Machine } from '../processes/machine.ts';

export interface DiskFaultsOptions {
  /** By host. A host without one has no disk that a run looks at: its power fails like a kill. */
  readonly volumes: ReadonlyMap<string, Volume>;
  /** What no volume here can do. */
  readonly lacks: ReadonlyMap<VolumeFault, string>;
  readonly machineOn: (host: string) => Machine;
}

const DISK_FAULTS = ['hang', 'slow', 'failNext', 'fill'] as const;

export function diskCapabilities(
  options: DiskFaultsOptions,
): Pick<Capabilities, 'power' | 'disks'> | Pick<Capabilities, 'power'> | undefined {
  const { lacks } = options;
  if (lacks.has('powerLoss')) return undefined;
  const power = powerOf(options);
  return DISK_FAULTS.some((fault) => lacks.has(fault)) ? { power } : { power, disks: disksOf(options) };
}

function powerOf({ volumes, machineOn }: DiskFaultsOptions): Capabilities['power'] {
  return {
    async fail(host, tear) {
      const volume = volumes.get(host);
      const machine = machineOn(host);
      if (volume === undefined) {
        await machine.kill();
        return;
      }
      // One that is without power already has nothing to lose.
      if (!machine.up || machine.powerless) return;
      // It may hear of the lost disk and end before it is killed.
      await machine.withoutPower(async () => {
        await volume.powerLoss(tear, machine.pid);
        await machine.kill();
        await machine.untouched();
        await volume.remount();
      });
    },
  };
}

function disksOf({ volumes, machineOn }: DiskFaultsOptions): Capabilities['disks'] {
  /** Nothing, where nothing runs on a disk of its own. */
  const strike = async (host: string, how: (volume: Volume, pid: number) => Promise<void>): Promise<void> => {
    const volume = volumes.get(host);
    const { pid } = machineOn(host);
    if (volume !== undefined && pid !== undefined) await how(volume, pid);
  };
  return {
    slow: (host, latency) =>
      strike(host, async (volume, pid) => {
        machineOn(host).expectSlowDisk();
        await volume.slow(latency, pid);
      }),
    hang: (host, forMs) =>
      strike(host, async (volume, pid) => {
        machineOn(host).expectSlowDisk();
        await volume.hang(forMs, pid);
      }),
    failNext: (host, operation) =>
      strike(host, async (volume, pid) => {
        machineOn(host).expectDiskTrouble();
        await volume.failNext(operation, pid);
      }),
    fill: (host) =>
      strike(host, async (volume) => {
        machineOn(host).expectDiskTrouble();
        await volume.fill();
      }),
    free: async (host) => await volumes.get(host)?.free(),
  };
}
