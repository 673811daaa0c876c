/**
 * Disks and clocks of the hosts of one run, as far as its faults need any: a run whose faults leave them alone has plain directories and
 * the machine's own clocks.
 */

import { join } from 'node:path';
import { anyNeeds } from '../../../nemeses/index.ts';
import { replicaHosts, STORE_HOST, serverHost, serverIds } from '../../../plan/plan.ts';
import type { Done } from '../../../nemeses/target.ts';
import { joiningIds, type Scenario } from '../../../scenario/scenario.ts';
import type { EffectCounts } from '../../effects.ts';
import { FakeClock } from '../clocks/fake-clock.ts';
import type { Volume, VolumeFault } from '../disks/volume.ts';
import { Volumes } from '../disks/volumes.ts';
import { clocksFor } from './clock-faults.ts';

export interface Hardware {
  /** By host; empty: the run's own directory has the data. */
  readonly volumes: ReadonlyMap<string, Volume>;
  /** What no volume can do here. */
  readonly lacks: ReadonlyMap<VolumeFault, string>;
  /** By host; empty: nobody's clock can be changed. */
  readonly clocks: ReadonlyMap<string, FakeClock>;
  /** As without faults: a step for each disk, and one for the clocks. */
  readonly healing: readonly HealStep[];
  /** No process may use any of it any more. What hangs is left behind, and the rest is removed. @throws VolumeError */
  close(): Promise<void>;
}

/** What has to come to an end by itself; anything may hang. */
export interface HealStep {
  readonly what: string;
  readonly act: () => Done;
}

export async function openHardware(scenario: Scenario, directory: string, effects: EffectCounts): Promise<Hardware> {
  const { faults } = scenario;
  const servers = [...serverIds(scenario), ...joiningIds(scenario)].map(serverHost);
  const needed = anyNeeds(faults, 'power') || anyNeeds(faults, 'disks');
  const opened = needed ? await Volumes.open() : undefined;
  const volumes = new Map<string, Volume>();
  for (const host of opened === undefined ? [] : [...servers, STORE_HOST, ...replicaHosts(scenario)]) {
    const volume = await opened?.create(host, (effect, times) => effects.count(effect, times));
    if (volume !== undefined) volumes.set(host, volume);
  }
  const clocks = openClocks(scenario, servers, directory, effects);
  return {
    volumes,
    lacks: opened?.lacks ?? new Map(),
    clocks,
    healing: [
      ...[...volumes].map(([host, volume]) => ({ what: `healing the disk of ${host}`, act: () => volume.heal() })),
      {
        what: 'setting the clocks right',
        act: () => {
          for (const clock of clocks.values()) clock.reset();
        },
      },
    ],
    async close() {
      for (const clock of clocks.values()) clock.close();
      await opened?.close();
    },
  };
}

function openClocks(
  { faults, clients }: Scenario,
  servers: readonly string[],
  directory: string,
  effects: EffectCounts,
): Map<string, FakeClock> {
  const kind = clocksFor(faults);
  if (kind === undefined || FakeClock.problem() !== undefined) return new Map();
  // Clients stamp what they tell by their monotonic clock, which must stay that of the machine.
  const hosts = kind === 'wall' ? [...servers, ...clients.map(({ name }) => name)] : servers;
  const made = hosts.map((name) => {
    const struck = (effect: Parameters<EffectCounts['count']>[0]): void => effects.count(effect);
    return [name, new FakeClock({ directory: join(directory, 'clocks'), name, clocks: kind, struck })] as const;
  });
  return new Map(made);
}
