/** What each part of a live run can inflict, in one list: a target has what any of them has, and each leaves out what this machine lacks. */

import type { Capabilities } from '../../nemeses/target.ts';
import type { EffectCounts } from '../effects.ts';
import type { Holds } from '../holds.ts';
import { clockCapabilities } from './hardware/clock-faults.ts';
import { diskCapabilities } from './hardware/disk-faults.ts';
import type { Hardware } from './hardware/hardware.ts';
import { logDamage } from './hardware/log-damage.ts';
import type { LiveMembers } from './members/live-members.ts';
import { linkCapabilities } from './network/link-faults.ts';
import type { LiveNetwork } from './network/live-network.ts';
import type { Forgetting } from './processes/forgetting.ts';
import type { Machine } from './processes/machine.ts';
import { processCapability } from './processes/process-faults.ts';
import { dataDirectory, launchTwin, logFile, type ProgramOptions } from './processes/programs.ts';
import { twinsOf } from './processes/twins.ts';
import type { LiveStrangers } from './strangers/live-strangers.ts';
import type { VersionChanges } from './versions/version-changes.ts';

/** What there is in a run to strike, and whom to tell. */
export interface Struck {
  readonly directory: string;
  readonly network: LiveNetwork;
  readonly hardware: Hardware;
  readonly programs: ProgramOptions;
  readonly forgetting: Forgetting;
  readonly members: LiveMembers;
  readonly strangers: LiveStrangers;
  /** Undefined: all servers are of one version. */
  readonly upgrade: VersionChanges | undefined;
  readonly effects: EffectCounts;
  readonly holds: Holds;
  readonly machineOn: (host: string) => Machine;
  readonly after: (ms: number, action: () => void) => void;
  readonly fail: (name: string, message: string) => void;
  readonly failed: (error: unknown) => void;
}

type Part = (struck: Struck) => Partial<Capabilities> | undefined;

const PARTS: readonly Part[] = [
  ({ machineOn, holds, forgetting }) => ({ processes: processCapability(machineOn, holds, forgetting) }),
  ({ network, holds }) => linkCapabilities(network, holds),
  ({ hardware, machineOn }) => (hardware.volumes.size === 0 ? undefined : diskCapabilities({ ...hardware, machineOn })),
  ({ hardware }) => (hardware.clocks.size === 0 ? undefined : { clocks: clockCapabilities(hardware.clocks) }),
  ({ directory, hardware, members, ...rest }) => ({
    damage: logDamage({
      ...rest,
      mayDamage: (host) => members.mayDamage(host),
      dataDirectory: (host) => dataDirectory({ directory, hardware }, host),
      logFile: (host) => logFile(directory, host),
    }),
  }),
  ({ members }) => ({ members: members.capability }),
  ({ programs, machineOn, effects, fail }) => ({
    twins: twinsOf({
      machineOn,
      launch: (host) => launchTwin(host, programs),
      refused: () => effects.count('second-start-refused'),
      failed: fail,
    }),
  }),
  ({ upgrade }) => (upgrade === undefined ? undefined : { versions: upgrade.capability }),
  ({ strangers }) => ({ strangers: strangers.capability }),
];

export function capabilitiesOf(struck: Struck): Partial<Capabilities> {
  return Object.assign({}, ...PARTS.map((part) => part(struck))) as Partial<Capabilities>;
}
