/** This server has no place in the ensemble any more: it must not start again with this data directory. */

import type { ServerId } from '../core/index.ts';

/** Why the ensemble goes on without a server. */
export type Expulsion = 'MEMBER_REMOVED' | 'WRONG_INCARNATION';

const LOOK = 'First see with "lockctl members", asked of the others, that';

const NEXT = {
  MEMBER_REMOVED: (id: ServerId) =>
    `server ${id} was removed from the ensemble. ${LOOK} it is not listed. Ids are used once: to have the machine back, ` +
    `start it with --join under a new id on an empty data directory, and add that`,
  WRONG_INCARNATION: (id: ServerId) =>
    `the ensemble knows server ${id} by another data directory, whose disk is lost: what it had acknowledged is missing here. ` +
    `${LOOK} it is listed and not connected. Then run "lockctl member remove ${id}", ` +
    `start this server on an empty directory with --join under a new id, and add that`,
} as const satisfies Record<Expulsion, (id: ServerId) => string>;

export class ExpelledError extends Error {
  readonly code: Expulsion;

  constructor(code: Expulsion, id: ServerId) {
    super(NEXT[code](id));
    this.name = 'ExpelledError';
    this.code = code;
  }
}
