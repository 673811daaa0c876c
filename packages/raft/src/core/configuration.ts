/**
 * Who belongs to the ensemble, and in which role. A configuration counts from when its entry is appended. While it is joint (thesis
 * 4.3) a decision takes a majority of its voters and a majority of the voters that it leaves behind.
 */

import type { ServerId } from './types.ts';

export type MemberRole =
  | 'voter'
  /** Gets the log, and becomes a voter once it has caught up. */
  | 'learner'
  /** Gets the log for good, and never counts. */
  | 'observer'
  /** A voter of the configuration that is left, and none of the next. */
  | 'leaving';

export interface ConfiguredMember {
  readonly id: ServerId;
  /** Where its peers reach it. */
  readonly peerAddress: string;
  /** Where clients reach it; empty until it has told. */
  readonly clientAddress: string;
  /** Of its data directory; empty until it has told. Another one under the same id has lost its disk. */
  readonly incarnation: string;
  readonly role: MemberRole;
  /** Joint: among the voters of the configuration that is left. */
  readonly outgoing: boolean;
}

export interface Configuration {
  /** By ascending id. */
  readonly members: readonly ConfiguredMember[];
  /** Ids of servers that were removed, ascending. An id is used once for all time. */
  readonly retired: readonly ServerId[];
}

/** Voters, learners and observers together. */
export const MAX_MEMBERS = 31;
/** A cluster that has used up this many ids can remove no more servers. */
export const MAX_RETIRED_IDS = 1_000;

export const EMPTY_CONFIGURATION: Configuration = { members: [], retired: [] };

/** The configuration of index 0. */
export function initialConfiguration(
  members: readonly { readonly id: ServerId; readonly peerAddress: string }[],
): Configuration {
  return {
    members: members
      .map(({ id, peerAddress }) => ({
        id,
        peerAddress,
        clientAddress: '',
        incarnation: '',
        role: 'voter' as const,
        outgoing: false,
      }))
      .toSorted((a, b) => a.id - b.id),
    retired: [],
  };
}

export function memberOf(configuration: Configuration, id: ServerId): ConfiguredMember | undefined {
  return configuration.members.find((member) => member.id === id);
}

export function isJoint({ members }: Configuration): boolean {
  return members.some((member) => member.outgoing);
}

/** The sets of voters of which each must give its majority: one, or two while joint. */
export function voterSets({ members }: Configuration): readonly (readonly ServerId[])[] {
  const incoming = members.filter((member) => member.role === 'voter').map(({ id }) => id);
  const outgoing = members.filter((member) => member.outgoing).map(({ id }) => id);
  return outgoing.length === 0 ? [incoming] : [incoming, outgoing];
}

export function withMember(configuration: Configuration, added: ConfiguredMember): Configuration {
  const others = configuration.members.filter(({ id }) => id !== added.id);
  return { ...configuration, members: [...others, added].toSorted((a, b) => a.id - b.id) };
}

/** The joint configuration that leads from `configuration` to one in which the member is a voter. */
export function jointPromotion(configuration: Configuration, promoted: ServerId): Configuration {
  return joint(configuration, (member) => (member.id === promoted ? 'voter' : member.role));
}

/** The joint configuration that leads from `configuration` to one without that voter. */
export function jointRemoval(configuration: Configuration, removed: ServerId): Configuration {
  return joint(configuration, (member) => (member.id === removed ? 'leaving' : member.role));
}

/** What a joint configuration leads to. */
export function finalConfiguration({ members, retired }: Configuration): Configuration {
  const left = members.filter((member) => member.role === 'leaving').map(({ id }) => id);
  return {
    members: members.filter(({ role }) => role !== 'leaving').map((member) => ({ ...member, outgoing: false })),
    retired: [...retired, ...left].toSorted((a, b) => a - b),
  };
}

/** For a member whose vote does not count: no quorum changes, so that no joint configuration is needed. */
export function withoutMember({ members, retired }: Configuration, removed: ServerId): Configuration {
  return {
    members: members.filter(({ id }) => id !== removed),
    retired: [...retired, removed].toSorted((a, b) => a - b),
  };
}

function joint(configuration: Configuration, roleOf: (member: ConfiguredMember) => MemberRole): Configuration {
  return {
    ...configuration,
    members: configuration.members.map((member) => ({
      ...member,
      role: roleOf(member),
      outgoing: member.role === 'voter',
    })),
  };
}
