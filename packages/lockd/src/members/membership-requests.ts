/** What operators want to know of the members, which any server may say of what it knows itself, and what they want to change about them. */

import type { AdminAnswer, AdminOperation, MembershipChange } from '@holdfast/protocol';
import {
  serverId,
  type MembershipOutcome,
  type MembershipRefusal,
  type PeerInfo,
  type ReplicaHandle,
} from '@holdfast/raft';
import { MEMBERS_ANSWER_MS } from '../limits.ts';
import { addressProblem } from '../settings/address.ts';
import { MAX_SERVER_ID } from '../settings/cluster-names.ts';
import type { AdminKind, AttemptOutcome } from './admin-kind.ts';
import { ROAD, membershipRefusal } from './admin-refusals.ts';

type Handle = () => ReplicaHandle;
type Operation<Type> = Extract<AdminOperation, { type: Type }>;

export function membersRequest(handle: Handle): AdminKind<Operation<'members'>> {
  return {
    answerMs: MEMBERS_ANSWER_MS,
    repeatable: true,
    changesSomething: false,
    notLeader: ROAD.notLeader,
    answerHere: ({ local }) => (local ? membersOf(handle) : undefined),
    attempt: (_operation, ended) => ended({ type: 'answered', answer: membersOf(handle) }),
  };
}

export function membershipChangeRequest(handle: Handle): AdminKind<Operation<'change-membership'>> {
  return {
    answerMs: MEMBERS_ANSWER_MS,
    repeatable: true,
    changesSomething: true,
    notLeader: ROAD.notLeader,
    problem: ({ change }) => problemOf(change),
    attempt: ({ change }, ended) => {
      const { server, ...rest } = change;
      handle().changeMembership({ ...rest, id: serverId(server) }, (outcome) =>
        ended(outcomeOf(handle, change, outcome)),
      );
    },
  };
}

function outcomeOf(handle: Handle, change: MembershipChange, outcome: MembershipOutcome | 'stopped'): AttemptOutcome {
  if (outcome === 'stopped' || outcome.type === 'unknown') return { type: 'unknown' };
  if (outcome.type === 'changed' || hasComeToBe(handle, change, outcome.reason))
    return { type: 'answered', answer: membersOf(handle) };
  const { refusal, isPassing } = membershipRefusal(outcome.reason, change.server);
  return isPassing ? { type: 'blocked', blockedBy: refusal } : { type: 'refused', refusal };
}

/** By an earlier request, whose answer may have been lost. */
function hasComeToBe(handle: Handle, change: MembershipChange, reason: MembershipRefusal): boolean {
  if (reason === 'already-a-voter' || reason === 'already-removed') return true;
  if (reason !== 'id-used' || change.type !== 'add') return false;
  const member = handle().peers.find(({ id }) => id === change.server);
  if (member?.peerAddress !== change.peerAddress) return false;
  return change.observer ? member.role === 'observer' : member.role === 'learner' || member.role === 'voter';
}

function membersOf(handle: Handle): AdminAnswer {
  const { peers, status } = handle();
  const { leader, appliedIndex } = status;
  return { type: 'members', leader, members: peers.map(memberSummary), index: appliedIndex };
}

function memberSummary({ id, role, peerAddress, clientAddress, connected }: PeerInfo) {
  return { server: id, role, peerAddress, clientAddress, connected };
}

function problemOf(change: MembershipChange): string | undefined {
  const { server } = change;
  if (server < 1 || server > MAX_SERVER_ID)
    return `the number of a server is from 1 to ${MAX_SERVER_ID}, not ${server}`;
  if (change.type !== 'add') return undefined;
  if (change.joinSecret === '') {
    return (
      `server ${server} is added with its join secret: start it with --join, and run the command that it prints ` +
      `(lockctl member add ${server} HOST:PORT --join-secret SECRET)`
    );
  }
  const problem = addressProblem(change.peerAddress, 'dial');
  return problem === undefined ? undefined : `the peer address "${change.peerAddress}" ${problem}`;
}
