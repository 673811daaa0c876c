/**
 * What of a core's state is taken away between two actions, since nothing that a server may say or do depends on it: where its clocks
 * stand, how many writes there have been, statistics. Time itself is an action: an election timeout has always passed for whoever
 * does not lead, so that nobody sticks to a leader and everybody may stand; for a leader it passes beat by beat.
 */

import type { RaftCore } from '@holdfast/raft/core';

import { openName } from '../server/opened-core.ts';
import type { CoreRole } from '../server/server.ts';

export const HEARTBEAT_MS = 1;
/** The second beat in a row without an answer from a quorum ends a leadership. */
export const ELECTION_TIMEOUT_MS = 2;

/** The fields of a core's state that are touched; the rest is kept whatever it is. */
export interface OpenState {
  role: OpenLeader | { readonly type: Exclude<CoreRole, 'leader'>; readonly timer: { elapsedMs: number } };
  now: number;
  countedMs: number;
  random: () => number;
  readonly membership: OpenMembership;
  readonly elections: Record<string, number>;
  readonly writes: OpenWrites;
}

interface OpenMembership {
  version: number;
  readonly electorate: readonly number[];
}

interface OpenWrites {
  waitMs: number;
  readonly private_outstanding: { seq: number }[];
  private_lastSeq: number;
  private_persistedSeq: number;
  private_hardStateSeq: number;
}

interface OpenLeader {
  readonly type: 'leader';
  sinceMs: number;
  quorumHeardMs: number;
  readonly progress: ReadonlyMap<number, { heardMs: number; sentAt: number }>;
}

/** Of an opened core. */
export function openState(core: RaftCore): OpenState {
  return (core as unknown as Record<string, OpenState>)[openName('core')] as OpenState;
}

/** The only function in a core's state. */
export const NO_RANDOMNESS = (): number => 0;

/** The fields that {@link normalize} expects a new core to have. @throws TypeError when the core no longer has one */
export function checkFields(state: OpenState): void {
  const names: readonly (keyof OpenState)[] = [
    'role',
    'now',
    'countedMs',
    'random',
    'membership',
    'elections',
    'writes',
  ];
  for (const name of names) demandField(state, name);
  const ofMembership: readonly (keyof OpenMembership)[] = ['version', 'electorate'];
  for (const name of ofMembership) demandField(state.membership, name);
  const ofWrites: readonly (keyof OpenWrites)[] = [
    'waitMs',
    'private_outstanding',
    'private_lastSeq',
    'private_persistedSeq',
    'private_hardStateSeq',
  ];
  for (const name of ofWrites) demandField(state.writes, name);
}

function checkLeader(leader: OpenLeader): void {
  const names: readonly (keyof OpenLeader)[] = ['sinceMs', 'quorumHeardMs', 'progress'];
  for (const name of names) demandField(leader, name);
}

function demandField(state: object, name: string): void {
  if (!Object.hasOwn(state, name))
    throw new TypeError(`the core has no field ${name}: adapt explore/normal-form.ts to it`);
}

/** Returns the number by which those of all writes are less than before: the last durable one has the number 0. */
export function normalize(state: OpenState): number {
  const { writes } = state;
  const earlier = writes.private_persistedSeq;
  writes.private_lastSeq -= earlier;
  writes.private_persistedSeq = 0;
  writes.private_hardStateSeq = Math.max(0, writes.private_hardStateSeq - earlier);
  for (const write of writes.private_outstanding) write.seq -= earlier;
  const counted = state.countedMs;
  state.now = 0;
  state.countedMs = 0;
  const { role } = state;
  if (role.type === 'leader') {
    normalizeLeader(role, counted);
  } else {
    demandField(role.timer, 'elapsedMs');
    role.timer.elapsedMs = 2 * ELECTION_TIMEOUT_MS;
  }
  writes.waitMs = 0;
  state.membership.version = 0;
  for (const cause of Object.keys(state.elections)) state.elections[cause] = 0;
  return earlier;
}

function normalizeLeader(leader: OpenLeader, counted: number): void {
  checkLeader(leader);
  leader.sinceMs = sinceHeard(leader.sinceMs - counted);
  leader.quorumHeardMs = sinceHeard(leader.quorumHeardMs - counted);
  for (const progress of leader.progress.values()) {
    progress.heardMs = sinceHeard(progress.heardMs - counted);
    progress.sentAt = 0;
  }
}

/** Longer ago than an election timeout is as good as never. */
function sinceHeard(ms: number): number {
  return Math.max(ms, -ELECTION_TIMEOUT_MS);
}
