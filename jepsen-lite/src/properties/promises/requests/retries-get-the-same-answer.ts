/** A request that comes again is answered as it was; one that asked of an acquire by what has become of it: it waits, then holds, then is gone. */

import type { Reply } from '@holdfast/protocol';

import { changed, floorOf, type ReportedAcquire } from '../../observation/acquires.ts';
import { difference } from '../../observation/difference.ts';
import { outputsOf } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function retriesGetTheSameAnswer(): StatePromise {
  const answers = new Map<string, Reply>();
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'a retry gets the same answer',
    observe({ changes, outputs }) {
      for (const change of changes) acquires = changed(acquires, change);
      for (const { session, number, reply } of outputsOf(outputs, 'reply')) {
        const request = `${session}/${number}`;
        const first = answers.get(request);
        const expected = first === undefined ? reply : presentOf(first, acquires);
        if (first === undefined) answers.set(request, reply);
        if (expected === undefined) {
          demand(
            reply.type === 'error' && reply.code === 'NOT_HELD',
            () => `request ${request}, whose acquire is gone, was answered ${JSON.stringify(reply)}`,
          );
          continue;
        }
        const wrong = difference(reply, expected);
        demand(wrong === undefined, () => `request ${request} was answered otherwise when it came again:${wrong}`);
      }
    },
  };
}

/** Undefined where it asked of an acquire that is gone. */
function presentOf(first: Reply, acquires: readonly ReportedAcquire[]): Reply | undefined {
  if (first.type !== 'acquire' && first.type !== 'sharedAcquire') return first;
  const acquire = acquires.find(({ acquireIndex }) => acquireIndex === first.acquireIndex);
  if (acquire === undefined) return undefined;
  const { token, lock } = acquire;
  if (first.type === 'acquire') return { ...first, token };
  return { ...first, token, floor: token === 0 ? 0 : (floorOf(acquires, lock) ?? 0) };
}
