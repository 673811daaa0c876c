/** Those who hold a lock can hear that others wait: it is reported when the first comes who does, and with a grant behind which others wait on. */

import { difference } from '../../observation/difference.ts';
import { outputsOf, type Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function contentionIsReported(): StatePromise {
  return {
    name: 'a lock for which others wait is reported to those who hold it',
    observe(step) {
      const shown = outputsOf(step.outputs, 'contended').map(({ lock }) => lock);
      const wrong = difference([...new Set(shown)].sort(), contended(step));
      demand(wrong === undefined, () => `of locks for which others wait was reported${wrong}`);
    },
  };
}

function contended({ changes, before, after }: Step): readonly string[] {
  const locks = changes.flatMap((change) => {
    if (change.type !== 'enqueued' && change.type !== 'granted') return [];
    const queue = after.queues.get(change.lock) ?? [];
    const waiters = queue.filter(({ token }) => token === 0).length;
    if (waiters === 0 || waiters === queue.length) return [];
    // Of those who waited before, one may have ended in a deadlock.
    const waited = before.queues.get(change.lock)?.some(({ token }) => token === 0) === true;
    const isFirst = change.type === 'enqueued' && change.token === 0 && !waited;
    return isFirst || change.type === 'granted' ? [change.lock] : [];
  });
  return [...new Set(locks)].sort();
}
