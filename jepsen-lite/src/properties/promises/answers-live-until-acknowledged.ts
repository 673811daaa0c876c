/** Only an applied `ackedUpTo` makes a session's memory forget, and it makes it forget no more than it says. */

import { MAX_REMEMBERED_REPLIES } from '@holdfast/protocol';

import { outputsOf } from '../observation/step.ts';
import { demand, type StatePromise } from '../state-promise.ts';

export function answersLiveUntilAcknowledged(): StatePromise {
  const acked = new Map<number, number>();
  return {
    name: 'an answer is remembered until it is acknowledged, and no longer',
    observe({ input, before, outputs }) {
      if (input.type !== 'request') return;
      const session = before.sessions.get(input.session);
      const { number, ackedUpTo } = input;
      if (session?.generation !== input.generation || !Number.isSafeInteger(number)) return;
      const last = session.lastApplied;
      if (number > last + 1) return;
      // A request cannot acknowledge itself, nor what comes after it.
      const now = Number.isSafeInteger(ackedUpTo) ? Math.min(ackedUpTo, number - 1, last) : 0;
      const upTo = Math.max(now, acked.get(session.id) ?? 0);
      acked.set(session.id, upTo);
      const remembered = number > upTo && (number <= last || last - upTo < MAX_REMEMBERED_REPLIES);
      const [reply] = outputsOf(outputs, 'reply');
      demand(
        (reply !== undefined) === remembered,
        () =>
          `request ${session.id}/${number} ${reply === undefined ? 'was not answered' : 'was answered'}, where ${last} were applied and ${upTo} acknowledged`,
      );
    },
  };
}
