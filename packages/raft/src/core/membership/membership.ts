/**
 * The leader's side of changing the configuration: one change at a time, none before an entry of the own term is committed (thesis 4.1
 * and its erratum), voters only through a joint configuration (4.3). A server is first a learner and becomes a voter when it has caught
 * up (4.2.1). A leader that is removed leads until the configuration without it is committed, and then transfers leadership (4.2.2).
 */

import { heldByQuorums } from '../quorum/active-quorums.ts';
import { CATCH_UP_ROUNDS, CATCH_UP_ROUND_TIMEOUTS } from '../config.ts';
import { encodeConfiguration } from './configuration-codec.ts';
import {
  MAX_MEMBERS,
  MAX_RETIRED_IDS,
  finalConfiguration,
  isJoint,
  jointPromotion,
  jointRemoval,
  memberOf,
  voterSets,
  withMember,
  withoutMember,
  type Configuration,
  type ConfiguredMember,
} from './configuration.ts';
import type { CoreState } from '../core-state.ts';
import type { MemberFacts, MembershipChange, MembershipRefusal } from './membership-change.ts';
import { isNewLeader } from '../election/quorum-contact.ts';
import { progressOf } from '../replication/followers.ts';
import type { CatchUp, Leader } from '../roles/leader.ts';
import { becomeFollower } from '../roles/transitions.ts';
import { bestSuccessor } from '../transfer/successor.ts';
import { EntryType, NO_SERVER, entryBytes, minIndex, nextIndex, type Entry, type ServerId } from '../types.ts';

/**
 * Why no change may begin; undefined when one may. One at a time, and by a leader that has committed an entry of its own term (the
 * erratum to 4.1): without that, two leaders of different terms, each of which begins a change that the other does not know, may count
 * majorities that have no server in common.
 */
export function changeRefusal(core: CoreState): MembershipRefusal | undefined {
  const { role } = core;
  return role.type === 'leader' ? changeRefusalOf(core, role) : 'not-leader';
}

function changeRefusalOf(core: CoreState, leader: Leader): MembershipRefusal | undefined {
  if (leader.transfer !== undefined) return 'transferring';
  if (!core.ownTermCommitted(leader)) return 'not-ready';
  const { index, configuration } = core.membership.latest;
  const underWay = index > core.commit || isJoint(configuration) || leader.changeTicket !== undefined;
  return underWay ? 'change-under-way' : undefined;
}

export function onChangeMembership(core: CoreState, ticket: number, change: MembershipChange): void {
  if (core.role.type !== 'leader') {
    endChange(core, ticket, 'not-leader');
    return;
  }
  const leader = core.role;
  const refusal = changeRefusalOf(core, leader) ?? refusalOf(core, leader, change);
  if (refusal !== undefined) {
    endChange(core, ticket, refusal);
    return;
  }
  const { configuration } = core.membership.latest;
  switch (change.type) {
    case 'add':
      appendConfiguration(core, leader, withMember(configuration, newMember(configuration, change)), ticket);
      return;
    case 'promote':
      leader.catchUps.set(change.id, { round: 1, target: core.log.lastIndex, elapsedMs: 0, ticket });
      return;
    case 'remove': {
      const votes = memberOf(configuration, change.id)?.role === 'voter';
      const next = votes ? jointRemoval(configuration, change.id) : withoutMember(configuration, change.id);
      appendConfiguration(core, leader, next, ticket);
      return;
    }
  }
}

/** What is new is recorded, unless a change is under way; it will be told again. */
export function onMemberFacts(core: CoreState, facts: readonly MemberFacts[]): void {
  if (core.role.type !== 'leader' || changeRefusalOf(core, core.role) !== undefined) return;
  const { configuration } = core.membership.latest;
  let next = configuration;
  for (const { id, incarnation, clientAddress } of facts) {
    const known = memberOf(next, id);
    // Another incarnation has lost its disk: it is never recorded in the place of the first.
    if (known === undefined || (known.incarnation !== '' && known.incarnation !== incarnation)) continue;
    if (known.incarnation === incarnation && known.clientAddress === clientAddress) continue;
    next = withMember(next, { ...known, incarnation, clientAddress });
  }
  if (next !== configuration) appendConfiguration(core, core.role, next, undefined);
}

/** Nothing is left for {@link continueMembership} to do, whatever is committed or acknowledged. */
export function membershipIsStable({ membership }: CoreState, { recount, changeTicket, catchUps }: Leader): boolean {
  return membership.stable && !recount && changeTicket === undefined && catchUps.size === 0;
}

/** At the end of a group: what the last commit, and the learners' progress, allow. */
export function continueMembership(core: CoreState, leader: Leader): void {
  if (membershipIsStable(core, leader)) return;
  const { index, configuration } = core.membership.latest;
  if (index <= core.commit && core.ownTermCommitted(leader)) {
    if (isJoint(configuration)) {
      // Also of a predecessor: a new leader ends what it began. A server that was asked to stand must go on having the whole log.
      if (leader.transfer?.timeoutNowSent !== true) {
        appendConfiguration(core, leader, finalConfiguration(configuration), leader.changeTicket);
      }
    } else {
      if (leader.changeTicket !== undefined) {
        core.effect({ type: 'membership-ended', ticket: leader.changeTicket, outcome: { type: 'changed', index } });
        leader.changeTicket = undefined;
      }
      if (memberOf(configuration, core.config.id) === undefined) {
        leaveEnsemble(core, leader);
        return;
      }
    }
  }
  continueCatchUps(core, leader);
}

export function tickMembership({ catchUps }: Leader, elapsedMs: number): void {
  for (const catchUp of catchUps.values()) catchUp.elapsedMs += elapsedMs;
}

function refusalOf(core: CoreState, leader: Leader, change: MembershipChange): MembershipRefusal | undefined {
  const { configuration } = core.membership.latest;
  const member = memberOf(configuration, change.id);
  switch (change.type) {
    case 'add':
      if (member !== undefined && corrects(member, change)) return undefined;
      if (member !== undefined || configuration.retired.includes(change.id)) return 'id-used';
      if (configuration.members.some(({ peerAddress }) => peerAddress === change.peerAddress)) return 'address-used';
      return configuration.members.length >= MAX_MEMBERS ? 'too-many-members' : undefined;
    case 'promote':
      if (member === undefined) return 'not-a-member';
      if (member.role === 'voter') return 'already-a-voter';
      return leader.catchUps.get(change.id)?.ticket === undefined ? undefined : 'change-under-way';
    case 'remove': {
      if (member === undefined) return configuration.retired.includes(change.id) ? 'already-removed' : 'not-a-member';
      if (configuration.retired.length >= MAX_RETIRED_IDS) return 'too-many-retired-ids';
      return member.role === 'voter' ? removalRefusal(core, leader, configuration, change.id) : undefined;
    }
  }
}

/** Those that are left must be able to decide, or the change could never be committed, nor undone. */
function removalRefusal(
  core: CoreState,
  leader: Leader,
  configuration: Configuration,
  id: ServerId,
): MembershipRefusal | undefined {
  const left = voterSets(finalConfiguration(jointRemoval(configuration, id)));
  if (left.every((voters) => voters.length === 0)) return 'last-voter';
  if (heldByQuorums(left, (voter) => isVoterHeard(core, leader, voter))) return undefined;
  return isNewLeader(core, leader) ? 'not-ready' : 'quorum-at-risk';
}

function isVoterHeard(core: CoreState, leader: Leader, voter: ServerId): boolean {
  return voter === core.config.id || progressOf(leader, voter).isAlive(core.countedMs);
}

type Addition = Extract<MembershipChange, { type: 'add' }>;

/** The server was added with another join secret, and was never heard: that one was mistyped, or its time is over. */
function corrects(member: ConfiguredMember, { peerAddress, joinSecret = '' }: Addition): boolean {
  const unheard = member.incarnation === '' && member.joinSecret !== '' && member.peerAddress === peerAddress;
  return unheard && joinSecret !== '' && joinSecret !== member.joinSecret;
}

function newMember(
  configuration: Configuration,
  { id, peerAddress, observer, joinSecret = '' }: Addition,
): ConfiguredMember {
  const present = memberOf(configuration, id);
  if (present !== undefined) return { ...present, joinSecret };
  const role = observer ? 'observer' : 'learner';
  return { id, peerAddress, clientAddress: '', incarnation: '', joinSecret, role, outgoing: false };
}

function appendConfiguration(
  core: CoreState,
  leader: Leader,
  configuration: Configuration,
  ticket: number | undefined,
): void {
  const data = encodeConfiguration(configuration);
  const index = nextIndex(core.log.lastIndex);
  const entry: Entry = { index, term: core.term, type: EntryType.configuration, data };
  leader.uncommittedBytes += entryBytes(entry);
  leader.changeTicket = ticket;
  core.appendEntry(entry);
}

function endChange(core: CoreState, ticket: number, reason: MembershipRefusal): void {
  core.effect({ type: 'membership-ended', ticket, outcome: { type: 'refused', reason } });
}

function continueCatchUps(core: CoreState, leader: Leader): void {
  const { configuration } = core.membership.latest;
  for (const [id, { ticket }] of leader.catchUps) {
    const role = memberOf(configuration, id)?.role;
    if (role === 'learner' || (role === 'observer' && ticket !== undefined)) continue;
    leader.catchUps.delete(id);
    if (ticket !== undefined) endChange(core, ticket, role === undefined ? 'not-a-member' : 'already-a-voter');
  }
  for (const { id, role } of configuration.members) {
    if (role === 'learner' && !leader.catchUps.has(id)) {
      leader.catchUps.set(id, { round: 1, target: core.log.lastIndex, elapsedMs: 0, ticket: undefined });
    }
    const catchUp = leader.catchUps.get(id);
    if (catchUp !== undefined) continueCatchUp(core, leader, id, catchUp);
  }
}

function continueCatchUp(core: CoreState, leader: Leader, id: ServerId, catchUp: CatchUp): void {
  const { electionTimeoutMs } = core.config;
  const progress = progressOf(leader, id);
  // One that is silent may be gone: as a voter it could be one too many for a quorum.
  if (progress.match >= catchUp.target && progress.isAlive(core.countedMs)) {
    if (catchUp.elapsedMs <= electionTimeoutMs && catchUp.round <= CATCH_UP_ROUNDS) {
      promote(core, leader, id, catchUp);
      return;
    }
    catchUp.round += 1;
    catchUp.target = core.log.lastIndex;
    catchUp.elapsedMs = 0;
  }
  const { ticket } = catchUp;
  if (ticket === undefined) return;
  const tooLong = catchUp.elapsedMs > CATCH_UP_ROUND_TIMEOUTS * electionTimeoutMs;
  if (catchUp.round <= CATCH_UP_ROUNDS && !tooLong) return;
  leader.catchUps.set(id, { ...catchUp, ticket: undefined, round: CATCH_UP_ROUNDS + 1 });
  endChange(core, ticket, 'not-caught-up');
}

/** What is ready waits for the change before it. */
function promote(core: CoreState, leader: Leader, id: ServerId, { ticket }: CatchUp): void {
  if (changeRefusalOf(core, leader) !== undefined) return;
  leader.catchUps.delete(id);
  appendConfiguration(core, leader, jointPromotion(core.membership.latest.configuration, id), ticket);
}

/** The configuration without this leader is committed. */
function leaveEnsemble(core: CoreState, leader: Leader): void {
  for (const peer of core.membership.peers) {
    const { connected, match } = progressOf(leader, peer);
    // Nobody would tell them soon.
    if (connected) core.send(peer, { type: 'commit', term: core.term, commit: minIndex(match, core.commit) });
  }
  const successor = bestSuccessor(core, leader);
  if (successor !== NO_SERVER) core.send(successor, { type: 'timeout-now', term: core.term });
  becomeFollower(core, core.term, NO_SERVER);
}
