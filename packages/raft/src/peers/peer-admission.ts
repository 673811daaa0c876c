/**
 * Who may speak to this server. Members, with the data directory that the ensemble knows them by; and those of whom this server may
 * not know yet because its log is behind theirs, or because it waits to be added itself. Never a removed server, or one whose disk
 * was lost: they are told so by a reason that begins with a code, and stop.
 */

import { MAX_MEMBERS, memberOf, type Configuration, type ConfigurationAt, type ServerId } from '../core/index.ts';
import type { PeerHello } from './peer-codec.ts';

/** Speakers that are no members yet: to a server that waits to be added, all members are. */
const MAX_GUESTS = MAX_MEMBERS;

/** What a server is told that has no place in the ensemble any more. The reason of a close is cut to 123 bytes. */
const EXPULSIONS = {
  MEMBER_REMOVED: 'this server was removed from the ensemble, for good',
  WRONG_INCARNATION: 'the ensemble knows this id by another data directory, which is lost',
} as const;
export type Expulsion = keyof typeof EXPULSIONS;

export interface MembershipView {
  /** In force, committed or not. */
  readonly latest: ConfigurationAt;
  readonly committed: Configuration;
}

/** Why the sender of the hello is not heard; undefined when it is. */
export function admissionProblem(
  { latest, committed }: MembershipView,
  own: ServerId,
  hello: PeerHello,
  guests: ReadonlySet<ServerId>,
): string | undefined {
  const { from, incarnation } = hello;
  const noMember = `server ${from} is no member: check --cluster`;
  if (from === own) return noMember;
  if (committed.retired.includes(from)) return `MEMBER_REMOVED: ${EXPULSIONS.MEMBER_REMOVED}`;
  if (isAnother(committed, hello)) return `WRONG_INCARNATION: ${EXPULSIONS.WRONG_INCARNATION}`;
  if (isAnother(latest.configuration, hello)) return `server ${from} has another data directory than ${incarnation}`;
  if (memberOf(latest.configuration, from) !== undefined) return undefined;
  // Whoever was added knows it from an entry of the log that this server does not have yet.
  const unknownYet = hello.peerAddress !== '' && hello.configurationIndex > latest.index;
  if (!unknownYet) return noMember;
  // One that speaks already may want to bring a snapshot, over a connection of its own.
  if (guests.has(from) || guests.size < MAX_GUESTS) return undefined;
  return `${guests.size} servers that are no members speak already`;
}

/** What the reason of a close says to this server. */
export function expulsionOf(reason: string): Expulsion | undefined {
  const code = reason.split(':', 1)[0];
  return code === 'MEMBER_REMOVED' || code === 'WRONG_INCARNATION' ? code : undefined;
}

function isAnother(configuration: Configuration, { from, incarnation }: PeerHello): boolean {
  const known = memberOf(configuration, from)?.incarnation ?? '';
  return known !== '' && known !== incarnation;
}
