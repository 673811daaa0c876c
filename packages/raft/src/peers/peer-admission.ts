/**
 * Who may speak to this server: the one rule. A **member** of a configuration that this server has, which proves that it has the data
 * directory that the ensemble knows it by. Or **whoever proves that it knows a secret of this server**, its incarnation or its join secret,
 * which only the configuration of the ensemble that took it in holds: that is how a server that lags, or waits to be added, lets in
 * members that it does not know. Everybody else is a stranger, is believed nothing, and learns nothing. A removed server and one whose disk
 * was lost are strangers whom somebody will notify. Decision record 0011 says why so.
 */

import { MAX_MEMBERS, memberOf, type Configuration, type ConfigurationAt, type ServerId } from '../core/index.ts';
import type { Expulsion } from './expelled-error.ts';
import type { PeerHello } from './greeting-codec.ts';

/** Speakers that are no members as far as this server knows: to one that waits to be added, all members are. */
const MAX_NON_MEMBERS = MAX_MEMBERS;

export interface MembershipView {
  /** In force, committed or not. */
  readonly latest: ConfigurationAt;
  readonly committed: Configuration;
}

/** Who wants to speak, and what it has proved. */
export interface Candidate {
  readonly hello: Pick<PeerHello, 'from' | 'purpose' | 'echo'>;
  /** As it named it; empty when it did not, because this server knows it. */
  readonly incarnation: string;
  /** It knows a secret of this server. */
  readonly knowsUs: boolean;
  /** It knows that secret of its own. */
  proves(secret: string): boolean;
}

/** What the rule asks of the rest of this server. */
export interface AdmissionContext {
  readonly view: MembershipView;
  readonly own: ServerId;
  readonly nonMembers: ReadonlySet<ServerId>;
  /** Whether the server at the member's own address has that incarnation; undefined while that is not known. */
  confirms(peer: ServerId, incarnation: string): boolean | undefined;
  /** Whether that is from the last hello that this server has said at the member's own address. */
  echoes(peer: ServerId, nonce: Uint8Array): boolean;
}

export type Verdict =
  | { readonly type: 'admitted'; readonly standing: 'member' | 'non-member'; readonly incarnation: string }
  /** It is not clear yet who is at the member's address. */
  | { readonly type: 'waits' }
  | {
      readonly type: 'refused';
      /** Sent to it. */
      readonly reason: string;
      /** For this server's own log. */
      readonly problem: string;
      /** It is notified by a connection to where the configuration has it, so that it may believe it. */
      readonly expulsion?: Expulsion;
      /** It is the removed server itself. */
      readonly proved?: boolean;
    };

/** All that a stranger is sent. The reason of a close is cut to 123 bytes. */
export const NOT_ADMITTED = 'NOT_ADMITTED: not known here as a member of the ensemble; "lockctl members" shows who is';
const REMOVED = 'MEMBER_REMOVED: this server was removed from the ensemble, for good';

/** Of this server. */
export interface OwnSecrets {
  /** It proves by them who it is. */
  readonly provenBy: readonly string[];
  /** Whoever knows one of them belongs to the ensemble. */
  readonly knownBy: readonly string[];
}

/**
 * Those that it `offers` count until its own configuration takes it in, and may be older than what others have of it. Its join secret
 * proves it for good, to members whose configuration has no incarnation of it yet; but nobody else by it any more once they have.
 */
export function ownSecrets(
  { latest }: MembershipView,
  own: ServerId,
  incarnation: string,
  offers: () => readonly string[],
): OwnSecrets {
  const member = memberOf(latest.configuration, own);
  const others = member === undefined ? offers() : member.joinSecret === '' ? [] : [member.joinSecret];
  const provenBy = [incarnation, ...others];
  const joined = member !== undefined && member.incarnation !== '';
  return { provenBy, knownBy: joined ? [incarnation] : provenBy };
}

/** By what the ensemble knows a server; empty while it knows nothing. */
export function secretOf(view: MembershipView, peer: ServerId): string {
  const incarnation = incarnationOf(view, peer);
  if (incarnation !== '') return incarnation;
  return memberOf(view.latest.configuration, peer)?.joinSecret ?? '';
}

export function incarnationOf({ latest, committed }: MembershipView, peer: ServerId): string {
  const known = memberOf(latest.configuration, peer)?.incarnation ?? '';
  return known === '' ? (memberOf(committed, peer)?.incarnation ?? '') : known;
}

export function isMember({ latest, committed }: MembershipView, peer: ServerId): boolean {
  return memberOf(latest.configuration, peer) !== undefined || memberOf(committed, peer) !== undefined;
}

export function admission(context: AdmissionContext, candidate: Candidate): Verdict {
  const { view, own } = context;
  const { from } = candidate.hello;
  if (from === own) return stranger(`it says to be server ${from}, which this one is`);
  if (view.committed.retired.includes(from)) return removed(view.committed, candidate);
  return isMember(view, from) ? memberVerdict(context, candidate) : nonMemberVerdict(context, candidate);
}

function memberVerdict(context: AdmissionContext, candidate: Candidate): Verdict {
  const { view } = context;
  const { from, purpose, echo } = candidate.hello;
  const known = incarnationOf(view, from);
  if (known !== '') {
    if (candidate.proves(known)) return { type: 'admitted', standing: 'member', incarnation: known };
    return { ...stranger(`it does not have the data directory of server ${from}`), expulsion: 'WRONG_INCARNATION' };
  }
  const { incarnation } = candidate;
  const joinSecret = secretOf(view, from);
  if (joinSecret !== '') {
    const proved = candidate.proves(joinSecret) && incarnation !== '' && candidate.proves(incarnation);
    if (proved) return { type: 'admitted', standing: 'member', incarnation };
    return stranger(`it does not prove the join secret of server ${from}`);
  }
  // A member since the ensemble began, of which no directory is known yet: it is who answers at its address.
  if (purpose === 'expulsion' && context.echoes(from, echo))
    return { type: 'admitted', standing: 'member', incarnation: '' };
  if (incarnation === '' || !candidate.proves(incarnation)) return stranger(`it names no data directory`);
  if (candidate.knowsUs) return { type: 'admitted', standing: 'member', incarnation };
  const confirmed = context.confirms(from, incarnation);
  if (confirmed === undefined) return { type: 'waits' };
  if (confirmed) return { type: 'admitted', standing: 'member', incarnation };
  return stranger(`another data directory than its own is at the address of server ${from}`);
}

function nonMemberVerdict({ nonMembers }: AdmissionContext, candidate: Candidate): Verdict {
  const { from } = candidate.hello;
  const { incarnation, knowsUs } = candidate;
  if (!knowsUs) return stranger(`server ${from} is no member here, and does not prove to know this one`);
  // One that speaks already may want to bring a snapshot, over a connection of its own.
  if (nonMembers.has(from) || nonMembers.size < MAX_NON_MEMBERS)
    return { type: 'admitted', standing: 'non-member', incarnation };
  return stranger(`${nonMembers.size} servers that are no members speak already`);
}

function removed({ former }: Configuration, candidate: Candidate): Verdict {
  const { from } = candidate.hello;
  const known = former.find(({ id }) => id === from)?.incarnation ?? '';
  const problem = `server ${from} was removed`;
  const proved = known !== '' && candidate.proves(known);
  return { type: 'refused', reason: proved ? REMOVED : NOT_ADMITTED, problem, expulsion: 'MEMBER_REMOVED', proved };
}

function stranger(problem: string): Extract<Verdict, { type: 'refused' }> {
  return { type: 'refused', reason: NOT_ADMITTED, problem };
}

/** Whether the reason of a close means that the peer may have expelled this server. */
export function hintsAtExpulsion(reason: string): boolean {
  const code = reason.split(':', 1)[0];
  return code === 'NOT_ADMITTED' || code === 'MEMBER_REMOVED' || code === 'WRONG_INCARNATION';
}
