/** What one kind of admin request is to the road that all of them take (admin-requests.ts). */

import type { AdminAnswer, AdminOperation } from '@holdfast/protocol';
import type { ServerId } from '@holdfast/raft';
import type { Refusal } from './admin-refusals.ts';

/** How a leader's attempt ended. */
export type AttemptOutcome =
  | { readonly type: 'answered'; readonly answer: AdminAnswer }
  /** Nothing was done. */
  | { readonly type: 'refused'; readonly refusal: Refusal }
  /** Nothing was done, and time alone may remove what it was blocked by. */
  | { readonly type: 'blocked'; readonly blockedBy: Refusal }
  /** It may be done, now or later, or not: leadership was lost first. */
  | { readonly type: 'unknown' }
  /** Whoever leads next decides. */
  | { readonly type: 'undecided'; readonly elected: (leader: ServerId) => AttemptOutcome };

export interface AdminKind<Operation extends AdminOperation> {
  /** Within this time each request is answered. */
  readonly answerMs: number;
  /**
   * Asking again for what has come to be is answered like the first time: so the next leader may be asked when one falls. Otherwise nobody
   * but the first leader that is known is asked, and once.
   */
  readonly repeatable: boolean;
  /** True: an attempt whose outcome is not known may still change something. */
  readonly changesSomething: boolean;
  /** How the server refuses that a leader's follower has taken for the leader. */
  readonly notLeader: Refusal;
  /** Why it cannot be asked for, whoever leads. */
  problem?(operation: Operation): string | undefined;
  /** Undefined: a leader has to answer. */
  answerHere?(operation: Operation): AdminAnswer | undefined;
  /** This server leads. Calls `ended` once, when the attempt has ended. */
  attempt(operation: Operation, ended: (outcome: AttemptOutcome) => void): void;
}

export type AdminKinds = {
  readonly [Type in AdminOperation['type']]: AdminKind<Extract<AdminOperation, { type: Type }>>;
};
