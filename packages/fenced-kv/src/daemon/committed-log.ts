/**
 * When a replica can give a backup. An in-sync one has every acknowledged entry, and may not know yet that the last ones are committed:
 * what its log has when it is asked must be. Then its buckets are whole after a copy, too, since all that the copy had was in that log.
 */

import type { Clock } from '@holdfast/runtime';

import { AdminError } from '../admin/admin-error.ts';
import type { GroupFacts } from '../http/store-source.ts';
import { BACKUP_WAIT_MS } from '../limits.ts';

const LOOK_MS = 20;

/** Resolves with what `take` returns in the turn in which it is so. Rejects with {@link AdminError}. */
export async function whenLogIsCommitted<T>(
  facts: () => GroupFacts,
  { clock, signal }: { readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>; readonly signal: AbortSignal },
  take: () => T,
): Promise<T> {
  const { lastIndex: asked } = facts();
  const endMs = clock.monotonicMs() + BACKUP_WAIT_MS;
  for (;;) {
    const { replica, group, inSync, copying, lastIndex, committedIndex } = facts();
    if (copying || !inSync.includes(replica)) {
      const others = inSync.filter((each) => each !== replica);
      const where = others.length === 0 ? 'an in-sync replica' : `an in-sync one (${others.join(', ')})`;
      throw new AdminError(
        'NOT_IN_SYNC',
        `replica ${replica} is not known to be in sync in group ${group}, and may lack what was acknowledged; take the backup where ${where} runs`,
      );
    }
    // A newer primary may have cut off what nobody has acknowledged.
    if (committedIndex >= Math.min(asked, lastIndex)) return take();
    if (signal.aborted || clock.monotonicMs() >= endMs) {
      throw new AdminError(
        'NOT_IN_SYNC',
        `replica ${replica} has not heard within ${BACKUP_WAIT_MS / 1_000} s that its log is committed: group ${group} may have no primary; ` +
          'try again, or stop this replica and take the backup of the stopped one',
      );
    }
    await new Promise<void>((resolve) => {
      clock.setTimer(LOOK_MS, resolve);
    });
  }
}
