/** What can be asked of an ensemble's configuration, and how it ends. */

import type { LogIndex, ServerId } from '../types.ts';

export type MembershipChange =
  | {
      readonly type: 'add';
      readonly id: ServerId;
      readonly peerAddress: string;
      /** Stays without a vote. Otherwise it is promoted as soon as it has caught up. */
      readonly observer: boolean;
      /** By which the server proves itself until its incarnation is known; another one takes its place until then. */
      readonly joinSecret?: string;
    }
  /** An observer, or a learner that had not caught up by itself. Ends when it votes. */
  | { readonly type: 'promote'; readonly id: ServerId }
  | { readonly type: 'remove'; readonly id: ServerId };

/** Nothing of the change is in the log. */
export type MembershipRefusal =
  | 'not-leader'
  /** No entry of the leader's own term is committed yet. */
  | 'not-ready'
  /** One at a time: another is not finished. */
  | 'change-under-way'
  | 'transferring'
  /** A member has that id, or a removed server had it. */
  | 'id-used'
  | 'address-used'
  | 'not-a-member'
  | 'already-removed'
  | 'already-a-voter'
  | 'last-voter'
  /** Too few of the voters that would be left are heard. */
  | 'quorum-at-risk'
  | 'not-caught-up'
  | 'too-many-members'
  | 'too-many-retired-ids'
  /** A member runs a version that cannot read configurations. */
  | 'unsupported';

export type MembershipOutcome =
  /** The last configuration of the change is committed. */
  | { readonly type: 'changed'; readonly index: LogIndex }
  | { readonly type: 'refused'; readonly reason: MembershipRefusal }
  /** Leadership was lost; it may come about or not. */
  | { readonly type: 'unknown' };

export interface MemberFacts {
  readonly id: ServerId;
  readonly incarnation: string;
  readonly clientAddress: string;
}
