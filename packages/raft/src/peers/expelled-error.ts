/** This server has no place in the ensemble any more: it must not start again with this data directory. */

import type { ServerId } from '../core/index.ts';
import type { Expulsion } from './peer-admission.ts';

const NEXT = {
  MEMBER_REMOVED: (id: ServerId) =>
    `server ${id} was removed from the ensemble. Ids are used once: to have it back, empty its data directory and add it under a new id`,
  WRONG_INCARNATION: (id: ServerId) =>
    `the ensemble knows server ${id} by another data directory, whose disk is lost: what it had acknowledged is missing here. ` +
    `Run "lockctl member remove ${id}", then start this server on an empty directory with --join under a new id and add that`,
} as const satisfies Record<Expulsion, (id: ServerId) => string>;

export class ExpelledError extends Error {
  readonly code: Expulsion;

  constructor(code: Expulsion, id: ServerId) {
    super(NEXT[code](id));
    this.name = 'ExpelledError';
    this.code = code;
  }
}
