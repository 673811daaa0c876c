/** A request that comes again is answered as it was; an acquire by what has become of it: it waits, then holds, then is gone. */

import type { Reply } from '@holdfast/protocol';

import { difference } from '../../observation/difference.ts';
import { outputsOf } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function retriesGetTheSameAnswer(): StatePromise {
  const answers = new Map<string, Reply>();
  const tokens = new Map<number, { readonly session: number; readonly token: number }>();
  return {
    name: 'a retry gets the same answer',
    observe({ changes, outputs }) {
      for (const change of changes) {
        if (change.type === 'removed') tokens.delete(change.acquireIndex);
        else if (change.type === 'enqueued' || change.type === 'granted') tokens.set(change.acquireIndex, change);
      }
      for (const { session, number, reply } of outputsOf(outputs, 'reply')) {
        const request = `${session}/${number}`;
        const first = answers.get(request);
        if (first === undefined) answers.set(request, reply);
        else if (first.type === 'acquire' && !tokens.has(first.acquireIndex)) {
          demand(
            reply.type === 'error' && reply.code === 'NOT_HELD',
            () => `request ${request}, whose acquire is gone, was answered ${JSON.stringify(reply)}`,
          );
        } else {
          const token = first.type === 'acquire' ? tokens.get(first.acquireIndex)?.token : undefined;
          const expected = token === undefined || first.type !== 'acquire' ? first : { ...first, token };
          const wrong = difference(withoutFloor(reply), withoutFloor(expected));
          demand(wrong === undefined, () => `request ${request} was answered otherwise when it came again:${wrong}`);
        }
      }
    },
  };
}

/** Which rises, and is another promise's. */
function withoutFloor(reply: Reply): Reply {
  if (reply.type !== 'acquire') return reply;
  const { floor: _rises, ...others } = reply;
  return others;
}
