/** All nemeses. What a scenario may hold, how its file is read, what is drawn, inflicted and counted follows from this list. */

import { clockRate } from './clocks/clock-rate.ts';
import { wallJump } from './clocks/wall-jump.ts';
import { bitFlip } from './disks/bit-flip.ts';
import { diskError } from './disks/disk-error.ts';
import { fullDisk } from './disks/full-disk.ts';
import { hungDisk } from './disks/hung-disk.ts';
import { slowDisk } from './disks/slow-disk.ts';
import type { FaultOf, Nemesis } from './nemesis.ts';
import { breakConnections } from './network/break.ts';
import { clog } from './network/clog.ts';
import { cut } from './network/cut.ts';
import { dials } from './network/dials.ts';
import { loss } from './network/loss.ts';
import { partition } from './network/partition.ts';
import { slowNetwork } from './network/slow-network.ts';
import { crash } from './processes/crash.ts';
import { kill } from './processes/kill.ts';
import { pause } from './processes/pause.ts';
import { stop } from './processes/stop.ts';

/** Their order decides what a seed draws: a new one, with a stream of its own, goes to the end. */
const LIST = [
  crash,
  kill,
  stop,
  pause,
  partition,
  cut,
  clog,
  breakConnections,
  loss,
  dials,
  slowNetwork,
  slowDisk,
  hungDisk,
  diskError,
  fullDisk,
  bitFlip,
  wallJump,
  clockRate,
] as const;

export type Fault = FaultOf<(typeof LIST)[number]>;
export type FaultKind = Fault['kind'];

export const NEMESES: readonly Nemesis[] = LIST;

const BY_KIND = new Map(NEMESES.map((each) => [each.kind, each]));

export function nemesisOf(kind: string): Nemesis | undefined {
  return BY_KIND.get(kind);
}
