/** The nodes in a lock's container are its queue: in order of names, each its session's, with the acquire index and the token. */

import { encodeLockName, LOCKS_PATH, type QueueEntry } from '@holdfast/protocol';

import type { Step } from '../../observation/step.ts';
import type { Input } from '../../observation/input.ts';
import type { View } from '../../observation/view.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function queueNodesShowTheQueue(): StatePromise {
  const granted = new Map<number, number>();
  let stamp = 0;
  return {
    name: 'the nodes of a lock show its queue',
    observe(step) {
      stamp = timeOf(step, step.input, stamp);
      for (const change of step.changes) {
        if ((change.type === 'granted' || change.type === 'enqueued') && change.token !== 0)
          granted.set(change.acquireIndex, stamp);
      }
      for (const [lock, queue] of step.after.queues) shownByNodes(step.after, lock, queue, granted);
    },
  };
}

function timeOf({ stamp }: Step, input: Input, last: number): number {
  const carries = input.type !== 'noop' && input.type !== 'unsupported';
  return carries ? Math.max(stamp, last) : last;
}

function shownByNodes(
  view: View,
  lock: string,
  queue: readonly QueueEntry[],
  granted: ReadonlyMap<number, number>,
): void {
  const container = `${LOCKS_PATH}/${encodeLockName(lock)}`;
  const names = view.nodes.get(container)?.names ?? [];
  demand(names.length === queue.length, () => `${container} has ${names.length} nodes for a queue of ${queue.length}`);
  for (const [place, { session, acquireIndex, token, since, grantedAt }] of queue.entries()) {
    const path = `${container}/${names[place]}`;
    const stat = view.nodes.get(path)?.stat;
    demand(
      stat?.czxid === acquireIndex &&
        stat.ephemeralOwner === session &&
        stat.mzxid === (token === 0 ? acquireIndex : token) &&
        stat.ctime === since,
      () => `${path} is ${JSON.stringify(stat)}, and in its place in the queue is ${JSON.stringify(queue[place])}`,
    );
    const expected = token === 0 ? 0 : granted.get(acquireIndex);
    demand(
      grantedAt === expected,
      () => `acquire ${acquireIndex} of lock ${lock} is shown as granted at ${grantedAt}, not ${expected}`,
    );
  }
}
