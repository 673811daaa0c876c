/**
 * What of a core's state is taken away between two actions, since nothing that a server may say or do depends on it: where its clocks
 * stand, how many writes there have been, statistics. Time itself is an action: an election timeout has always passed for whoever
 * does not lead, so that nobody is loyal to a leader and everybody may stand; for a leader it passes beat by beat.
 */

import type { RaftCore } from '@holdfast/raft/core';

import { openName } from '../server/opened-core.ts';
import type { CoreRole } from '../server/server.ts';

export const HEARTBEAT_MS = 1;
/** The second beat in a row without an answer from a quorum ends a leadership. */
export const ELECTION_TIMEOUT_MS = 2;

/** The fields of a core's state that are touched; the rest is kept whatever it is. */
export interface OpenState {
  role: CoreRole;
  now: number;
  countedMs: number;
  quorumHeardMs: number;
  leaderSinceMs: number;
  electionElapsedMs: number;
  diskWaitMs: number;
  configurationVersion: number;
  random: () => number;
  readonly electorate: readonly number[];
  readonly elections: Record<string, number>;
  readonly progress: ReadonlyMap<number, { heardMs: number; toldAt: number }>;
  readonly private_outstanding: { seq: number }[];
  private_lastSeq: number;
  private_persistedSeq: number;
  private_hardStateSeq: number;
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
    'quorumHeardMs',
    'leaderSinceMs',
    'electionElapsedMs',
    'diskWaitMs',
    'configurationVersion',
    'random',
    'electorate',
    'elections',
    'progress',
    'private_outstanding',
    'private_lastSeq',
    'private_persistedSeq',
    'private_hardStateSeq',
  ];
  for (const name of names) {
    if (!Object.hasOwn(state, name))
      throw new TypeError(`the core has no field ${name}: adapt explore/normal-form.ts to it`);
  }
}

/** Returns the number by which those of all writes are less than before: the last durable one has the number 0. */
export function normalize(state: OpenState): number {
  const writes = state.private_persistedSeq;
  state.private_lastSeq -= writes;
  state.private_persistedSeq = 0;
  state.private_hardStateSeq = Math.max(0, state.private_hardStateSeq - writes);
  for (const write of state.private_outstanding) write.seq -= writes;
  const counted = state.countedMs;
  state.now = 0;
  state.countedMs = 0;
  state.quorumHeardMs = sinceHeard(state.quorumHeardMs - counted);
  state.leaderSinceMs = state.role === 'leader' ? sinceHeard(state.leaderSinceMs - counted) : -ELECTION_TIMEOUT_MS;
  for (const progress of state.progress.values()) {
    progress.heardMs = sinceHeard(progress.heardMs - counted);
    progress.toldAt = 0;
  }
  state.electionElapsedMs = state.role === 'leader' ? 0 : 2 * ELECTION_TIMEOUT_MS;
  state.diskWaitMs = 0;
  state.configurationVersion = 0;
  for (const cause of Object.keys(state.elections)) state.elections[cause] = 0;
  return writes;
}

/** Longer ago than an election timeout is as good as never. */
function sinceHeard(ms: number): number {
  return Math.max(ms, -ELECTION_TIMEOUT_MS);
}
