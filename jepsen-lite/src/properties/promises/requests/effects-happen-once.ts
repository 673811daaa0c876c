/** Only the first copy of a request changes anything; nor does anything that was refused or answered with an error. */

import { contentsDifference } from '../../observation/contents.ts';
import { errorCode, freshReply, outputsOf, type Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function effectsHappenOnce(): StatePromise {
  return {
    name: 'each request takes effect once, and what is refused takes none',
    observe(step) {
      const { before, after, input } = step;
      const reply = freshReply(step);
      const advanced = input.type === 'request' && reply !== undefined ? input.session : 0;
      for (const [id, { lastApplied }] of after.sessions) {
        const expected = (before.sessions.get(id)?.lastApplied ?? 0) + (id === advanced ? 1 : 0);
        demand(lastApplied === expected, () => `session ${id} has applied ${lastApplied} requests, not ${expected}`);
      }
      if (mayChange(step)) return;
      const changed = contentsDifference(after, before);
      demand(changed === undefined, () => `an entry without effect changed${changed}`);
    },
  };
}

function mayChange(step: Step): boolean {
  const { input, outputs } = step;
  const begins = outputsOf(outputs, 'sessionEnding').length > 0;
  switch (input.type) {
    case 'noop':
    case 'unsupported':
    case 'raise':
      return false;
    case 'attach':
      return outputsOf(outputs, 'attached')[0]?.reply.type === 'attached';
    case 'expire':
      return outputsOf(outputs, 'sessionEnded').length > 0 || begins;
    case 'unused':
      return outputsOf(outputs, 'unusedRemoved').some(({ nodes }) => nodes > 0);
    case 'endDelay':
      return outputsOf(outputs, 'lockDelayEnded').length > 0;
    case 'enforce':
      return outputsOf(outputs, 'lost').length > 0;
    case 'continue':
      return step.before.sessions.get(input.command?.session ?? 0)?.ending === true;
    case 'request': {
      const reply = freshReply(step);
      if (begins) return true;
      return (
        reply !== undefined &&
        errorCode(reply) === undefined &&
        reply.type !== 'lockHeld' &&
        reply.type !== 'transactionFailed'
      );
    }
  }
}
