/**
 * The operations of a transaction: all of them are made, in one entry, or none. Each is checked as the command of that name is, over what
 * those before it will have done.
 */

import { MAX_DATA_BYTES, MAX_PATH_LENGTH } from '../limits.ts';
import { shortList } from '../schema/bounded.ts';
import { decidedElement, decidedList } from '../schema/decided-list.ts';
import { bytes, integer, integerWithin, signed, text, type ValueOf } from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';
import { MAX_CREATE_MODE } from './create-mode.ts';

const path = text(MAX_PATH_LENGTH);

/** A node's data, or none at all, which is not the same as empty data. */
const dataOrNone = shortList(1, bytes(MAX_DATA_BYTES), 'data');

/** `ttlMs`: of a mode that has one, 0 of every other. */
export const creation = {
  path,
  data: dataOrNone,
  mode: integerWithin(0, MAX_CREATE_MODE),
  ttlMs: integer(),
} as const;

/** `version` −1 matches any. */
export const dataChange = { path, data: dataOrNone, version: signed() } as const;

export const operations = messages('operation', {
  /** Changes nothing: the node must exist, and have that version. −1 matches any. */
  check: message(1, { path, version: signed() }),
  create: message(2, creation),
  set: message(3, dataChange),
  delete: message(4, { path, version: signed() }),
});

export type Operation = ValueOf<typeof operations>;

/** One of a type that this version does not know: who applies it refuses the transaction. */
export interface UnknownOperation {
  readonly type: 'unknown';
}

const UNKNOWN: UnknownOperation = { type: 'unknown' };

export const operationList = decidedList<Operation | UnknownOperation>(operations, UNKNOWN);

/** One of them. */
export const readOperation = decidedElement<Operation | UnknownOperation>(operations, UNKNOWN);
