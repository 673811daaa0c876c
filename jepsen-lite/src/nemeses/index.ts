/** All nemeses. What a scenario may hold, how its file is read, what is drawn, inflicted and counted follows from this list. */

import { clockRate } from './clocks/clock-rate.ts';
import { wallJump } from './clocks/wall-jump.ts';
import { bitFlip } from './disks/bit-flip.ts';
import { diskError } from './disks/disk-error.ts';
import { fullDisk } from './disks/full-disk.ts';
import { hungDisk } from './disks/hung-disk.ts';
import { slowDisk } from './disks/slow-disk.ts';
import { addMember } from './members/add-member.ts';
import { loseDisk } from './members/lose-disk.ts';
import { promoteMember } from './members/promote-member.ts';
import { removeMember } from './members/remove-member.ts';
import { transferLeadership } from './members/transfer-leadership.ts';
import type { FaultOf, Nemesis } from './nemesis.ts';
import { bandwidth } from './network/bandwidth.ts';
import { breakConnections } from './network/break.ts';
import { clog } from './network/clog.ts';
import { cut } from './network/cut.ts';
import { dials } from './network/dials.ts';
import { loss } from './network/loss.ts';
import { packetLoss } from './network/packet-loss.ts';
import { partition } from './network/partition.ts';
import { slowNetwork } from './network/slow-network.ts';
import { changeVersion } from './processes/change-version.ts';
import { crash } from './processes/crash.ts';
import { fallBehind } from './processes/fall-behind.ts';
import { kill } from './processes/kill.ts';
import { pause } from './processes/pause.ts';
import { secondStart } from './processes/second-start.ts';
import { stop } from './processes/stop.ts';
import { intrude } from './strangers/intrude.ts';
import { replay } from './strangers/replay.ts';
import { usurp } from './strangers/usurp.ts';
import type { CapabilityName, Effect } from './target.ts';

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
  addMember,
  promoteMember,
  removeMember,
  loseDisk,
  intrude,
  usurp,
  replay,
  fallBehind,
  packetLoss,
  transferLeadership,
  secondStart,
  changeVersion,
  bandwidth,
] as const;

type Listed = (typeof LIST)[number];
type FaultNeeding<C extends CapabilityName> = FaultOf<Extract<Listed, { readonly needs: readonly C[] }>>;

export type Fault = FaultOf<Listed>;
export type FaultKind = Fault['kind'];
/** What operators do about the members, and what strangers do at the ports of servers. */
export type MemberFault = FaultNeeding<'members'>;
export type StrangerFault = FaultNeeding<'strangers'>;

export const NEMESES: readonly Nemesis[] = LIST;

const BY_KIND = new Map(NEMESES.map((each) => [each.kind, each]));

export function nemesisOf(kind: string): Nemesis | undefined {
  return BY_KIND.get(kind);
}

/** Whether any of these faults asks that of its target. */
export function anyNeeds(faults: readonly Fault[], capability: CapabilityName): boolean {
  return faults.some(({ kind }) => nemesisOf(kind)?.needs.includes(capability));
}

/**
 * By which a nemesis is known to have struck: those of its effects that no other has (a server that starts again may have been killed or
 * stopped); all of them, when it has none for itself.
 */
export function effectsOf(kind: string): readonly Effect[] {
  const nemesis = nemesisOf(kind);
  if (nemesis === undefined) return [];
  const own = allOf(nemesis).filter((effect) =>
    NEMESES.every((other) => other === nemesis || !allOf(other).includes(effect)),
  );
  return own.length > 0 ? own : nemesis.strikes;
}

function allOf({ strikes, strikesSeldom = [] }: Nemesis): readonly Effect[] {
  return [...strikes, ...strikesSeldom];
}
