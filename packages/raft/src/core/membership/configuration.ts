/**
 * Who belongs to the ensemble, and in which role. A configuration counts from when its entry is appended. While it is joint (thesis
 * 4.3) a decision takes a majority of its voters and a majority of the voters that it leaves behind.
 */

import type { ServerId } from '../types.ts';

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
  /**
   * Of its data directory; empty until it has told. Another one under the same id has lost its disk. A secret between it and the ensemble:
   * whoever knows it belongs to the ensemble (peers/peer-admission.ts).
   */
  readonly incarnation: string;
  /**
   * What it had shown to its operator when it joined; empty for a founder. It proves itself by it wherever its incarnation is not known:
   * by now to members that lag alone.
   */
  readonly joinSecret: string;
  readonly role: MemberRole;
  /** Joint: among the voters of the configuration that is left. */
  readonly outgoing: boolean;
}

/** A server that was removed, and is to be told so should it come back. */
export type FormerMember = Pick<ConfiguredMember, 'id' | 'peerAddress' | 'incarnation'>;

export interface Configuration {
  /** By ascending id. */
  readonly members: readonly ConfiguredMember[];
  /** Ids of servers that were removed, ascending. An id is used once for all time. */
  readonly retired: readonly ServerId[];
  /** The last of them, in the order in which they were removed. */
  readonly former: readonly FormerMember[];
}

/** Voters, learners and observers together. */
export const MAX_MEMBERS = 31;
/** A cluster that has used up this many ids can remove no more servers. */
export const MAX_RETIRED_IDS = 1_000;

/** Of servers that were removed before these only the id is known. */
export const MAX_FORMER_MEMBERS = 32;

export const EMPTY_CONFIGURATION: Configuration = { members: [], retired: [], former: [] };

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
        joinSecret: '',
        role: 'voter' as const,
        outgoing: false,
      }))
      .toSorted((a, b) => a.id - b.id),
    retired: [],
    former: [],
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
export function finalConfiguration(configuration: Configuration): Configuration {
  const { members } = configuration;
  return {
    ...retiring(configuration, (member) => member.role === 'leaving'),
    members: members.filter(({ role }) => role !== 'leaving').map((member) => ({ ...member, outgoing: false })),
  };
}

/** For a member whose vote does not count: no quorum changes, so that no joint configuration is needed. */
export function withoutMember(configuration: Configuration, removed: ServerId): Configuration {
  return {
    ...retiring(configuration, ({ id }) => id === removed),
    members: configuration.members.filter(({ id }) => id !== removed),
  };
}

function retiring(
  { members, retired, former }: Configuration,
  leaves: (member: ConfiguredMember) => boolean,
): Pick<Configuration, 'retired' | 'former'> {
  const left = members.filter((member) => leaves(member));
  const known = left.map(({ id, peerAddress, incarnation }) => ({ id, peerAddress, incarnation }));
  return {
    retired: [...retired, ...left.map(({ id }) => id)].toSorted((a, b) => a - b),
    former: [...former, ...known].slice(-MAX_FORMER_MEMBERS),
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
