/** An operator wants another server to lead: the leader transfers leadership, and answers once the new leader is known. Asked once. */

import type { AdminOperation } from '@holdfast/protocol';
import { serverId, type ReplicaHandle, type ServerId, type TransferResult } from '@holdfast/raft';
import { TRANSFER_ANSWER_MS } from '../limits.ts';
import type { AdminKind, AttemptOutcome } from './admin-kind.ts';
import { transferRefusal } from './admin-refusals.ts';

type Transfer = Extract<AdminOperation, { type: 'transfer' }>;

export function transferRequest(handle: () => ReplicaHandle): AdminKind<Transfer> {
  return {
    answerMs: TRANSFER_ANSWER_MS,
    repeatable: false,
    changesSomething: false,
    notLeader: transferRefusal('not-leader', 0),
    attempt: ({ server }, ended) => {
      const target = server === 0 ? undefined : serverId(server);
      handle().transferLeadership(target, (result) => ended(outcomeOf(result)));
    },
  };
}

function outcomeOf({ outcome, target }: TransferResult): AttemptOutcome {
  if (outcome === 'transferred') return { type: 'undecided', elected: (leader) => electedInstead(leader, target) };
  if (outcome === 'already-leader') return { type: 'answered', answer: { type: 'transferred', server: target } };
  return { type: 'refused', refusal: transferRefusal(outcome, target) };
}

function electedInstead(leader: ServerId, target: ServerId): AttemptOutcome {
  if (leader === target) return { type: 'answered', answer: { type: 'transferred', server: leader } };
  const message = `server ${leader} was elected instead of server ${target}`;
  return { type: 'refused', refusal: { code: 'TRANSFER_REFUSED', message } };
}
