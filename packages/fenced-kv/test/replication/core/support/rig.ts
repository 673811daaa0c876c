/** Single cores of a group of three, r1, r2 and r3, in the states from which tests begin. */

import {
  EMPTY_REPLICA,
  ReplicationCore,
  type DurableReplica,
  type Effect,
  type Entry,
  type Message,
  type VersionedConfiguration,
} from '../../../../src/replication/core/index.ts';

const GROUP = ['r1', 'r2', 'r3'];

/** Of a durable write that is not about a copy. */
export const NOTHING_ELSE = { base: undefined, copy: undefined };
export const PAYLOAD = new TextEncoder().encode('a write');
/** The configuration before r1 is elected with 57: r2 is primary, r3 has been removed. */
export const BEFORE: VersionedConfiguration = { version: 8, epoch: 41, primary: 'r2', inSync: ['r1', 'r2'] };
export const CLAIMED: VersionedConfiguration = { version: 9, epoch: 57, primary: 'r1', inSync: ['r1', 'r2'] };

interface InFlight {
  readonly maxInFlightEntries: number;
  readonly maxInFlightAppends: number;
}

const IN_FLIGHT: InFlight = { maxInFlightEntries: 4, maxInFlightAppends: 10 };

export function coreOf(
  self: string,
  entries: readonly Entry[] = [],
  installed = 41,
  inFlight: InFlight = IN_FLIGHT,
): ReplicationCore {
  return coreFrom(self, { ...EMPTY_REPLICA, installed, entries }, inFlight);
}

export function coreFrom(self: string, durable: DurableReplica, inFlight: InFlight = IN_FLIGHT): ReplicationCore {
  const sizes = { maxAppendEntries: 10, maxAppendBytes: 1_000_000 };
  const limits = { minInSync: 2, ...sizes, ...inFlight };
  return new ReplicationCore({ self, group: GROUP, ...limits }, durable);
}

export function entry(index: number, epoch: number): Entry {
  return { index, epoch, payload: PAYLOAD };
}

export function hear(core: ReplicationCore, from: string, message: Message): readonly Effect[] {
  return core.step({ type: 'message', from, message });
}

/** r1 has claimed the group and appended its barrier, at index 1, durably; r2 and r3 have not answered. */
export function installing(inFlight: InFlight = IN_FLIGHT): ReplicationCore {
  const core = coreOf('r1', [], 41, inFlight);
  core.step({ type: 'elected', token: 57, configuration: BEFORE });
  core.step({ type: 'persisted', seq: 1 });
  core.step({ type: 'configuration', configuration: CLAIMED });
  core.step({ type: 'persisted', seq: 2 });
  return core;
}

/** r1 serves with r2 in sync. */
export function serving(inFlight: InFlight = IN_FLIGHT): ReplicationCore {
  const core = installing(inFlight);
  hear(core, 'r2', { type: 'installed', epoch: 57, lastIndex: 0, copy: 0, cursor: undefined });
  hear(core, 'r2', { type: 'appended', epoch: 57, copy: 0, index: 1 });
  return core;
}

/** r1 serves, and all three are in sync. */
export function servingWithAll(inFlight: InFlight = IN_FLIGHT): ReplicationCore {
  const core = serving(inFlight);
  hear(core, 'r3', { type: 'installed', epoch: 57, lastIndex: 0, copy: 0, cursor: undefined });
  hear(core, 'r3', { type: 'appended', epoch: 57, copy: 0, index: 1 });
  core.step({ type: 'configuration', configuration: { ...CLAIMED, version: 10, inSync: GROUP } });
  return core;
}

export function typesOf(effects: readonly Effect[]): readonly string[] {
  return effects.map(({ type }) => type);
}

export function sentTo(effects: readonly Effect[], to: string): readonly Message[] {
  return effects.flatMap((effect) => (effect.type === 'send' && effect.to === to ? [effect.message] : []));
}
