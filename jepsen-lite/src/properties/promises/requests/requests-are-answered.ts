/**
 * Each request has one answer, or one refusal, also one whose command this version does not have: such a one is answered UNSUPPORTED and uses up its
 * number. A machine that stopped at it would stop on every server, at a word of a single client.
 */

import { errorCode, freshReply, outputsOf } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export const REQUESTS_ARE_ANSWERED = 'every request is answered, known or not';

export function requestsAreAnswered(): StatePromise {
  return {
    name: REQUESTS_ARE_ANSWERED,
    observe(step) {
      const { input, before } = step;
      if (input.type !== 'request' || input.name !== undefined) return;
      const session = before.sessions.get(input.session);
      // The own close of a session that ends over several entries is answered by the last of them.
      if (session?.ending === true) return;
      const answers = [...outputsOf(step.outputs, 'reply'), ...outputsOf(step.outputs, 'refused')];
      demand(answers.length === 1, () => `a command that no version has led to ${answers.length} answers`);
      const reply = freshReply(step);
      const shown = reply === undefined || errorCode(reply) === 'UNSUPPORTED';
      demand(shown, () => `a command that no version has was answered ${JSON.stringify(reply)}`);
      const last = step.after.sessions.get(input.session)?.lastApplied;
      const used = reply === undefined || last === input.number;
      demand(used, () => `request ${input.number} was answered, and the last applied is ${last}`);
    },
  };
}
