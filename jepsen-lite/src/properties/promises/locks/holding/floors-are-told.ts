/**
 * The floor of a lock is the lowest token under which it is held. Each grant says it, where others may hold the lock, too; and it is reported when
 * it rises under those who go on holding it.
 */

import type { QueueEntry } from '@holdfast/protocol';

import { requestOf } from '../../../../models/holders.ts';
import { difference } from '../../../observation/difference.ts';
import { outputsOf, type Step } from '../../../observation/step.ts';
import { allAcquires, type View } from '../../../observation/view.ts';
import type { StatePromise } from '../../../state-promise.ts';
import { demand } from '../../../demand.ts';

export function floorsAreTold(): StatePromise {
  return {
    name: 'a floor is the lowest token under which a lock is held, and is reported when it rises',
    observe(step) {
      const { outputs, after } = step;
      for (const { acquireIndex, floor } of outputsOf(outputs, 'granted')) told(after, acquireIndex, floor);
      for (const { reply } of outputsOf(outputs, 'reply')) {
        if (reply.type === 'acquire' && reply.token !== 0) told(after, reply.acquireIndex, reply.floor);
      }
      const wrong = difference(
        outputsOf(outputs, 'floorRaised')
          .map(({ lock, floor }) => ({ lock, floor }))
          .sort((left, right) => (left.lock < right.lock ? -1 : 1)),
        raised(step),
      );
      demand(wrong === undefined, () => `of floors that rise was reported${wrong}`);
    },
  };
}

function told(view: View, acquireIndex: number, floor: number | undefined): void {
  const kinds = new Map(view.locks.map(({ lock, kind }) => [lock, kind]));
  const shared = allAcquires(view).filter((acquire) => {
    if (acquire.acquireIndex !== acquireIndex) return false;
    const request = requestOf(kinds.get(acquire.lock), acquire.parameters);
    return request.type === 'semaphore' || (request.type === 'readWrite' && !request.write);
  });
  const expected = shared.length === 0 ? undefined : Math.min(...shared.map(({ lock }) => floorOf(view, lock)));
  demand(floor === expected, () => `acquire ${acquireIndex} was told the floor ${floor}, and it is ${expected}`);
}

/** By name. Whom the entry has granted the lock was told the floor with that. */
function raised({ index, before, after }: Step): readonly { readonly lock: string; readonly floor: number }[] {
  return [...before.queues.keys()].sort().flatMap((lock) => {
    const [was, floor] = [floorOf(before, lock), floorOf(after, lock)];
    return was !== 0 && floor > was && floor < index ? [{ lock, floor }] : [];
  });
}

/** 0 where nobody holds it. */
function floorOf({ queues }: View, lock: string): number {
  const tokens = heldOf(queues.get(lock) ?? []).map(({ token }) => token);
  return tokens.length === 0 ? 0 : Math.min(...tokens);
}

function heldOf(queue: readonly QueueEntry[]): readonly QueueEntry[] {
  return queue.filter(({ token }) => token !== 0);
}
