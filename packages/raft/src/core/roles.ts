/** The role of a server, with what exists in that role alone. */

import type { Leader } from './leader.ts';
import type { ServerId } from './types.ts';

export type RoleState = Follower | PreCandidate | Candidate | Leader;

export class Follower {
  readonly type = 'follower';
  /** NO_SERVER while none of its term is known. */
  leader: ServerId;

  constructor(leader: ServerId) {
    this.leader = leader;
  }
}

/** Asks whether it could win an election. */
export class PreCandidate {
  readonly type = 'pre-candidate';
  /** Who has answered, and how. */
  readonly votes = new Map<ServerId, boolean>();
}

/** Asks for votes in its term. */
export class Candidate {
  readonly type = 'candidate';
  /** Who has answered, and how. Its own vote is among them once it is durable. */
  readonly votes = new Map<ServerId, boolean>();
}
