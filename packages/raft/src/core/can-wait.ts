/**
 * Which events change nothing that anybody could notice: the leader's own write when it makes no majority, an acknowledgement of
 * what is committed already, a follower's write (the driver itself lets go what waited for it). With one client they are half of all
 * that a leader hears, and a step for each would delay the requests behind it. They are counted with the next step, at the latest at
 * the deadline. The rules are beside the handlers whose outcome they foresee.
 */

import { writeCanWait } from './replication/commit.ts';
import type { CoreState } from './core-state.ts';
import type { RaftEvent } from './event.ts';
import { acknowledgementCanWait } from './replication/follower-answers.ts';
import { membershipIsStable } from './membership/membership.ts';

export function canWait(core: CoreState, event: RaftEvent): boolean {
  switch (event.type) {
    case 'persisted':
      // Every answer, and every write, may be what a change of the members waits for.
      return (core.role.type !== 'leader' || membershipIsStable(core, core.role)) && writeCanWait(core, event.seq);
    case 'message':
      return event.message.type === 'append-response' && acknowledgementCanWait(core, event.from, event.message);
    case 'propose':
    case 'deadline':
    case 'disk-worked':
    case 'applied':
    case 'read-index':
    case 'peer-connected':
    case 'peer-disconnected':
    case 'peer-refused':
    case 'entries-read':
    case 'snapshot-taken':
    case 'snapshot-received':
    case 'snapshot-sent':
    case 'transfer':
    case 'eager-commit':
    case 'change-membership':
    case 'member-facts':
      return false;
  }
}
