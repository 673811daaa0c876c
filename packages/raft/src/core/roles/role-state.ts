/** The role of a server, with what exists in that role alone. */

import type { Leader } from './leader.ts';
import type { ServerId } from '../types.ts';

export type RoleState = Follower | PreCandidate | Candidate | Leader;

/** What everyone who does not lead waits for. */
export class ElectionTimer {
  /** Milliseconds since a leader was heard, a vote was given or an election began; counted in clamped steps. */
  elapsedMs = 0;
  timeoutMs: number;
  /** Above 0: the leader's process is known to be gone; this many fast rounds of pre-vote are left. */
  fastRounds: number;

  constructor(timeoutMs: number, fastRounds: number) {
    this.timeoutMs = timeoutMs;
    this.fastRounds = fastRounds;
  }

  restart(timeoutMs: number): void {
    this.elapsedMs = 0;
    this.timeoutMs = timeoutMs;
  }
}

export class Follower {
  readonly type = 'follower';
  /** NO_SERVER while none of its term is known. */
  leader: ServerId;
  readonly timer: ElectionTimer;

  constructor(leader: ServerId, timer: ElectionTimer) {
    this.leader = leader;
    this.timer = timer;
  }
}

/** Asks whether it could win an election. */
export class PreCandidate {
  readonly type = 'pre-candidate';
  /** Who has answered, and how. */
  readonly votes = new Map<ServerId, boolean>();
  readonly timer: ElectionTimer;

  constructor(timer: ElectionTimer) {
    this.timer = timer;
  }
}

/** Asks for votes in its term. */
export class Candidate {
  readonly type = 'candidate';
  /** Who has answered, and how. Its own vote is among them once it is durable. */
  readonly votes = new Map<ServerId, boolean>();
  readonly timer: ElectionTimer;

  constructor(timer: ElectionTimer) {
    this.timer = timer;
  }
}
