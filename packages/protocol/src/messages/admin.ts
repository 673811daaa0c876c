/** What operators ask a server to do, beside commands and queries: asked with `admin`, answered with `admin-answer`. */

import { membershipChanges, memberSummary } from './members.ts';
import { error } from './reply.ts';
import { flag, integer, later, list, trailingUnless, type ValueOf } from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';

/** Asking again for what has come to be is answered like the first time. */
export const adminOperations = messages('admin operation', {
  /** `server` 0: whoever is best. */
  transfer: message(1, { server: integer() }),
  /** `local`: as the server that is asked knows them, leader or not; otherwise as the leader does. */
  members: message(2, { local: trailingUnless(false, flag()) }),
  'change-membership': message(3, { change: membershipChanges }),
});

export type AdminOperation = ValueOf<typeof adminOperations>;

export const adminAnswers = messages('admin answer', {
  error,
  /** `server` leads now. */
  transferred: message(1, { server: integer() }),
  /**
   * As the leader knows them, after a change that was asked for; or as one server does, `leader` 0 while it knows none. `index`: up to
   * which the server that says so has applied the log; 0 from one that does not tell.
   */
  members: message(2, { leader: integer(), members: list(memberSummary), index: later(integer(), 0) }),
});

export type AdminAnswer = ValueOf<typeof adminAnswers>;
