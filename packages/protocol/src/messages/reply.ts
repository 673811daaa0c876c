/** Answers to commands. The state machine makes them, remembers them until they are acknowledged, and makes the same again for a retry. */

import { MAX_LABEL_LENGTH, MAX_LOCK_NAME_LENGTH, MAX_MESSAGE_LENGTH, MAX_PATH_LENGTH } from '../limits.ts';
import { cutText, errorCode, integer, list, record, text, trailingOptional, type ValueOf } from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';
import { deadlockSteps } from './deadlock.ts';
import { stat } from './stat.ts';

/** Digits of a sequential node's number, and more. */
const MAX_SEQUENCE_LENGTH = 32;

export const error = message(0, { code: errorCode(), message: cutText(MAX_MESSAGE_LENGTH) });

/** Who holds a lock, as far as others may know. */
export const holderFields = {
  session: integer(),
  label: text(MAX_LABEL_LENGTH),
  token: integer(),
  acquireIndex: integer(),
} as const;

const holder = record(holderFields);

export interface Holder extends ValueOf<typeof holder> {}

/** One acquire of a session that waits or holds. */
const acquire = record({
  lock: text(MAX_LOCK_NAME_LENGTH),
  acquireIndex: integer(),
  /** 0 while it waits. */
  token: integer(),
});

export interface Acquire extends ValueOf<typeof acquire> {}

export const replies = messages('reply', {
  error,
  /** closeSession, delete, release. */
  done: message(1, {}),
  created: message(2, { path: text(MAX_PATH_LENGTH + MAX_SEQUENCE_LENGTH), stat }),
  changed: message(3, { stat }),
  /**
   * acquire: `token` 0 means that it waits; a `granted` event follows. A retry gets the present state of that wait. `floor`: the lowest token
   * that is live on those of its locks that several may hold; absent for a hold that has each of its locks alone.
   */
  acquire: message(4, { acquireIndex: integer(), token: integer(), floor: trailingOptional(integer()) }),
  /** acquire that was not to wait, on a lock that is not free. Session 0: nobody holds it, and it is delayed since the hold under that token was lost. */
  lockHeld: message(5, { holder }),
  /** cancel: `token` is that of the hold which was given up, 0 when it had still waited. */
  cancelled: message(6, { token: integer() }),
  attached: message(7, {
    session: integer(),
    generation: integer(),
    timeoutMs: integer(),
    /** The last request number that was applied; 0 for none. */
    lastApplied: integer(),
    /** Every wait and hold of the session, by acquire index. */
    acquires: list(acquire),
  }),
  /**
   * transaction: everything was done by the entry at `index`. For each operation one number: of `create` with a sequential mode the number
   * behind the name, of `set` the version that the data have now, otherwise 0.
   */
  transaction: message(8, { index: integer(), results: list(integer(), 'result') }),
  /** transaction: nothing was done, because of the operation at that place, the first is 0. */
  transactionFailed: message(9, { operation: integer(), code: errorCode(), message: cutText(MAX_MESSAGE_LENGTH) }),
  /** revoke: by the entry at `index`, which is above the token that was revoked and not above that of the next grant. Also of a delay. */
  revoked: message(10, { index: integer() }),
  /** acquireWith: it would have closed this deadlock, and was to end then. Nothing of it is left. */
  deadlock: message(11, { steps: deadlockSteps }),
});

export type Reply = ValueOf<typeof replies>;
