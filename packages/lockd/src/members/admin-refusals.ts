/** What an operator is answered to a request that was not done: one row for each reason. */

import type { ErrorCode } from '@holdfast/protocol';
import type { MembershipRefusal, TransferOutcome } from '@holdfast/raft';

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
}

interface Row {
  readonly code: ErrorCode;
  /** Time alone may remove it. */
  readonly isPassing?: true;
  /** `server`: which the request is about. */
  readonly text: (server: number) => string;
}

export type TransferRefusal = Exclude<TransferOutcome, 'transferred' | 'already-leader'>;

const NEW_LEADER = 'the leader has just changed';
const AGAIN = `${NEW_LEADER}; ask again`;
const LOOK_WHO_LEADS = `${NEW_LEADER}; look who leads and ask again`;

const MEMBERSHIP: Readonly<Record<MembershipRefusal, Row>> = {
  'not-leader': { code: 'MEMBERSHIP_REFUSED', isPassing: true, text: () => AGAIN },
  'not-ready': { code: 'MEMBERSHIP_REFUSED', isPassing: true, text: () => AGAIN },
  'change-under-way': {
    code: 'MEMBERSHIP_REFUSED',
    isPassing: true,
    text: () => 'another change of the members is not finished; wait for it',
  },
  transferring: {
    code: 'MEMBERSHIP_REFUSED',
    isPassing: true,
    text: () => 'leadership is being transferred; ask again',
  },
  'quorum-at-risk': {
    code: 'MEMBERSHIP_REFUSED',
    text: (server) =>
      `without server ${server} too few of the voters could be reached to decide anything; start or remove the others first`,
  },
  'not-caught-up': {
    code: 'MEMBERSHIP_REFUSED',
    text: (server) =>
      `server ${server} lags too far behind to vote; see that it runs and can be reached, and ask again when it has caught up`,
  },
  'id-used': {
    code: 'MEMBER_EXISTS',
    text: (server) =>
      `the number ${server} is another member's, or was a removed server's; numbers are used once, so choose another`,
  },
  'address-used': {
    code: 'MEMBER_EXISTS',
    text: () => 'another member has that peer address; choose another, or remove that member first',
  },
  'not-a-member': { code: 'NOT_FOUND', text: (server) => `server ${server} is no member` },
  'already-removed': { code: 'NOT_FOUND', text: (server) => `server ${server} was removed` },
  'already-a-voter': { code: 'INVALID_ARGUMENT', text: (server) => `server ${server} votes already` },
  'last-voter': {
    code: 'INVALID_ARGUMENT',
    text: (server) => `server ${server} is the only one that votes; add another first`,
  },
  'too-many-members': {
    code: 'LIMIT_EXCEEDED',
    text: () => 'the cluster has as many members as it can have; remove one first',
  },
  'too-many-retired-ids': {
    code: 'LIMIT_EXCEEDED',
    text: () => 'the cluster remembers as many removed servers as it can; no more can be removed',
  },
  unsupported: {
    code: 'UNSUPPORTED',
    // A member that was just added has not said yet what it can do.
    isPassing: true,
    text: () =>
      'a member is of an older version that cannot read such changes, or was not heard yet; upgrade it, or wait until it is connected',
  },
};

const TRANSFER: Readonly<Record<TransferRefusal, Row>> = {
  'not-leader': { code: 'TRANSFER_REFUSED', text: () => LOOK_WHO_LEADS },
  'lost-leadership': { code: 'TRANSFER_REFUSED', text: () => LOOK_WHO_LEADS },
  'unknown-target': { code: 'NOT_FOUND', text: (server) => `server ${server} is no voting member` },
  'timed-out': {
    code: 'TRANSFER_REFUSED',
    text: (server) => `server ${server} did not take over in time; the leader goes on`,
  },
  'target-unreachable': {
    code: 'TRANSFER_REFUSED',
    text: (server) => `server ${server} cannot be reached by the leader`,
  },
  'target-behind': {
    code: 'TRANSFER_REFUSED',
    text: (server) => `server ${server} is far behind the leader; wait until it has caught up`,
  },
  'no-target': { code: 'TRANSFER_REFUSED', text: () => 'no other server is connected and up to date' },
  'in-progress': { code: 'TRANSFER_REFUSED', text: () => 'a transfer to another server is under way' },
};

export function membershipRefusal(
  reason: MembershipRefusal,
  server: number,
): { readonly refusal: Refusal; readonly isPassing: boolean } {
  const { code, text, isPassing = false } = MEMBERSHIP[reason];
  return { refusal: { code, message: text(server) }, isPassing };
}

export function transferRefusal(reason: TransferRefusal, server: number): Refusal {
  const { code, text } = TRANSFER[reason];
  return { code, message: text(server) };
}

/** Of what comes between the operator and a leader, whatever is asked for. */
export const ROAD = {
  noLeader: { code: 'NO_LEADER', message: 'no leader is known, so that nobody can do it; ask again' },
  notLeader: { code: 'NO_LEADER', message: AGAIN },
  tooMany: {
    code: 'OVERLOADED',
    message: 'too many requests of operators are not answered yet; wait for their answers',
  },
  timedOut: {
    code: 'LEADER_CHANGED',
    message: 'the leader did not answer in time; look at the members and ask again',
  },
  stopping: { code: 'SHUTTING_DOWN', message: 'this server is stopping; ask another' },
} as const satisfies Readonly<Record<string, Refusal>>;

export function olderLeader(leader: number): Refusal {
  return { code: 'UNSUPPORTED', message: `the leader, server ${leader}, is of an older version that cannot do that` };
}

/** Whoever is refused takes what was asked for as undone, which cannot be said of what may be in a log. */
export function mayStillHappen({ message }: Refusal): Refusal {
  const text = 'the leader changed, and what was asked for may still happen; look at the members and ask again';
  return { code: 'LEADER_CHANGED', message: `${text} (refused now: ${message})` };
}
