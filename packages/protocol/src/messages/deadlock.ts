/**
 * Deadlocks as they are told: sessions in a ring, each of which has a lock that the one before waits for, and waits for one of the next. The
 * last one waits for the first.
 */

import { MAX_LABEL_LENGTH, MAX_LOCK_NAME_LENGTH } from '../limits.ts';
import { integer, list, record, text, type ValueOf } from '../schema/field.ts';

const lock = text(MAX_LOCK_NAME_LENGTH);

const deadlockStep = record({
  session: integer(),
  label: text(MAX_LABEL_LENGTH),
  /** What it has, and the one before waits for. */
  holds: lock,
  token: integer(),
  /** In whose queue it waits. */
  waitsFor: lock,
  /** Of its wait. */
  acquireIndex: integer(),
  /** When it began to wait, milliseconds since the Unix epoch. */
  since: integer(),
  /**
   * The acquire before it in a queue that waits for what the next one has; 0 where it waits for that itself. An acquire of several locks in
   * front may wait at another lock.
   */
  behind: integer(),
});

export interface DeadlockStep extends ValueOf<typeof deadlockStep> {}

/** At most {@link MAX_DEADLOCK_STEPS} of them: of a longer one, the first. */
export const deadlockSteps = list(deadlockStep);

export const deadlock = record({ steps: deadlockSteps });

/** Each session has something that the one before it waits for; the first one, what the last one waits for. */
export interface Deadlock extends ValueOf<typeof deadlock> {}
