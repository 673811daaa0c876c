/**
 * An acquire is refused that no lock can fulfil: of a kind that is not there yet, of a lock that is in use in another way or with another number of
 * permits, of more permits than there are, of no lock, or of one twice. Nothing else is refused so.
 */

import { refusalOf } from '../../models/lock-model.ts';
import { changed, type ReportedAcquire } from '../../observation/acquires.ts';
import { appliedCommand, errorCode } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function acquiresFitTheirLocks(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'an acquire that does not fit its lock is refused, and no other is',
    observe(step) {
      const applied = appliedCommand(step);
      const type = applied?.command.type;
      if (applied !== undefined && (type === 'acquire' || type === 'acquireSeveral' || type === 'acquireWith')) {
        const { command, reply } = applied;
        const expected = refusalOf(command, step.before, acquires);
        const code = errorCode(reply);
        const refused = code === 'INVALID_ARGUMENT' || code === 'UNSUPPORTED';
        demand(
          expected === undefined ? !refused : code === expected,
          () =>
            `${JSON.stringify(command)} was to be answered ${expected ?? 'otherwise'}, and was answered ${JSON.stringify(reply)}`,
        );
      }
      for (const change of step.changes) acquires = changed(acquires, change);
    },
  };
}
