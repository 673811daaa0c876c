/** What an operator is told of a change of the members that the leader has refused. */

import type { ErrorCode } from '@holdfast/protocol';
import type { MembershipRefusal } from '@holdfast/raft';

/** Time alone may remove it; a member that was just added has not said yet what it can do. */
export function isPassing(reason: MembershipRefusal): boolean {
  return ['not-leader', 'not-ready', 'change-under-way', 'transferring', 'unsupported'].includes(reason);
}

export function codeOf(reason: MembershipRefusal): ErrorCode {
  switch (reason) {
    case 'not-leader':
    case 'not-ready':
    case 'change-under-way':
    case 'transferring':
    case 'quorum-at-risk':
    case 'not-caught-up':
      return 'MEMBERSHIP_REFUSED';
    case 'id-used':
    case 'address-used':
      return 'MEMBER_EXISTS';
    case 'not-a-member':
    case 'already-removed':
      return 'NOT_FOUND';
    case 'already-a-voter':
    case 'last-voter':
      return 'INVALID_ARGUMENT';
    case 'too-many-members':
    case 'too-many-retired-ids':
      return 'LIMIT_EXCEEDED';
    case 'unsupported':
      return 'UNSUPPORTED';
  }
}

export function messageOf(reason: MembershipRefusal, server: number): string {
  switch (reason) {
    case 'not-leader':
    case 'not-ready':
      return 'the leader has just changed; ask again';
    case 'change-under-way':
      return 'another change of the members is not finished; wait for it';
    case 'transferring':
      return 'leadership is being handed over; ask again';
    case 'quorum-at-risk':
      return `without server ${server} too few of the voters could be reached to decide anything; start or remove the others first`;
    case 'not-caught-up':
      return `server ${server} lags too far behind to vote; see that it runs and can be reached, and ask again when it has caught up`;
    case 'id-used':
      return `the number ${server} is another member's, or was a removed server's; numbers are used once, so choose another`;
    case 'address-used':
      return 'another member has that peer address; choose another, or remove that member first';
    case 'not-a-member':
      return `server ${server} is no member`;
    case 'already-removed':
      return `server ${server} was removed`;
    case 'already-a-voter':
      return `server ${server} votes already`;
    case 'last-voter':
      return `server ${server} is the only one that votes; add another first`;
    case 'too-many-members':
      return 'the cluster has as many members as it can have; remove one first';
    case 'too-many-retired-ids':
      return 'the cluster remembers as many removed servers as it can; no more can be removed';
    case 'unsupported':
      return 'a member is of an older version that cannot read such changes, or was not heard yet; upgrade it, or wait until it is connected';
  }
}
