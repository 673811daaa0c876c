/**
 * Which events change nothing that anybody could notice: the leader's own write when it makes no majority, an acknowledgement of
 * what is committed already, a follower's write (the driver itself lets go what waited for it). With one client they are half of all
 * that a leader hears, and a step for each would delay the requests behind it. They are counted with the next step, at the latest at
 * the deadline.
 */

import type { CoreState } from './core-state.ts';
import type { RaftEvent } from './event.ts';
import type { Leader } from './leader.ts';
import { majorityIndex } from './replication.ts';
import type { Message, ServerId, WriteSeq } from './types.ts';

type AppendResponse = Extract<Message, { type: 'append-response' }>;

export function canWait(core: CoreState, event: RaftEvent): boolean {
  // Every answer may be what a change of the members waits for.
  if (core.role.type === 'leader' && membersChange(core, core.role)) return false;
  switch (event.type) {
    case 'persisted':
      return writeCanWait(core, event.seq);
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

function membersChange({ membership }: CoreState, { recount, changeTicket, catchUps }: Leader): boolean {
  return recount || !membership.settled || changeTicket !== undefined || catchUps.size > 0;
}

function writeCanWait(core: CoreState, seq: WriteSeq): boolean {
  switch (core.role.type) {
    case 'leader':
      return majorityIndex(core, core.role, core.writes.stableIndexAfter(seq)) <= core.commit;
    case 'candidate':
      // It may be the own vote that decides.
      return false;
    case 'follower':
    case 'pre-candidate':
      return true;
  }
}

function acknowledgementCanWait(core: CoreState, from: ServerId, message: AppendResponse): boolean {
  if (core.role.type !== 'leader' || message.term !== core.term || !message.accepted) return false;
  const leader = core.role;
  const progress = leader.progress.get(from);
  if (progress === undefined) return false;
  const wantsNews = message.eagerCommit || progress.eagerCommit;
  const wantsEntries = progress.mode !== 'replicate' || (!progress.kept && progress.next <= core.log.lastIndex);
  if (wantsNews || wantsEntries || leader.transfer !== undefined) return false;
  return majorityIndex(core, leader, core.writes.stableIndex, from, message.index) <= core.commit;
}
