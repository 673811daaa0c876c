/** Request n only after n − 1, only through the latest attachment and the server of that; a refusal says where to go on and uses no number up. */

import { outputsOf, type Step } from '../../observation/step.ts';
import type { RequestInput } from '../../observation/input.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

interface Known {
  readonly generation: number;
  /** At which it is attached. */
  readonly server: number;
  last: number;
  /** It is over, and the number of its own request to close it; 0 for none. */
  closedBy?: number;
}

export function requestsApplyInOrder(): StatePromise {
  const sessions = new Map<number, Known>();
  return {
    name: 'requests apply in the order of their numbers, without gaps',
    observe(step) {
      if (step.input.type === 'request') {
        const { number, session } = step.input;
        const known = sessions.get(session);
        const own = outputsOf(step.outputs, 'sessionEnding').some((ending) => ending.session === session);
        const expected = expectedRefusal(step.input, known);
        if (expected === 'silence' || (own && expected === undefined)) silent(step);
        else answered(step, step.input, expected);
        if (known !== undefined && outputsOf(step.outputs, 'reply').length > 0)
          known.last = Math.max(known.last, number);
      }
      for (const { server, reply } of outputsOf(step.outputs, 'attached')) {
        if (reply.type !== 'attached') continue;
        const { session, generation } = reply;
        sessions.set(session, { last: sessions.get(session)?.last ?? 0, generation, server });
      }
      for (const { session } of outputsOf(step.outputs, 'sessionEnding')) {
        const known = sessions.get(session);
        const own = step.input.type === 'request' && step.input.session === session;
        if (known !== undefined) known.closedBy = own && step.input.type === 'request' ? step.input.number : 0;
      }
      for (const { session } of outputsOf(step.outputs, 'sessionEnded')) sessions.delete(session);
    },
  };
}

/** Undefined for what must be applied or answered from memory; what memory has forgotten is another promise's. */
function expectedRefusal(
  input: RequestInput,
  known: Readonly<Known> | undefined,
): { readonly code: string; readonly lastApplied: number } | 'silence' | undefined {
  if (known === undefined) return { code: 'SESSION_EXPIRED', lastApplied: 0 };
  const lastApplied = known.last;
  const attached = input.via === known.server && input.generation === known.generation;
  if (!attached) return { code: 'SESSION_MOVED', lastApplied };
  if (known.closedBy !== undefined) {
    return input.number === known.closedBy ? 'silence' : { code: 'OVERLOADED', lastApplied };
  }
  const inOrder = Number.isSafeInteger(input.number) && input.number <= lastApplied + 1;
  return inOrder ? undefined : { code: 'OUT_OF_ORDER', lastApplied };
}

/** The own close of a session that ends over several entries is answered by the last of them. */
function silent({ outputs }: Step): void {
  const answers = outputs.filter((output) => output.type === 'reply' || output.type === 'refused');
  demand(answers.length === 0, () => `a close was answered before the session had ended: ${JSON.stringify(answers)}`);
}

function answered(
  { outputs }: Step,
  input: RequestInput,
  expected: { readonly code: string; readonly lastApplied: number } | undefined,
): void {
  const answers = outputs.filter((output) => output.type === 'reply' || output.type === 'refused');
  const [answer] = answers;
  demand(answer !== undefined && answers.length === 1, () => `a request led to ${answers.length} answers`);
  const echoed =
    answer.session === input.session &&
    answer.generation === input.generation &&
    Object.is(answer.number, input.number);
  demand(echoed, () => `request ${input.session}/${input.number} was answered as ${answer.session}/${answer.number}`);
  if (expected === undefined) return;
  demand(
    answer.type === 'refused' &&
      answer.server === input.via &&
      answer.code === expected.code &&
      answer.lastApplied === expected.lastApplied &&
      outputs.length === 1,
    () =>
      `request ${input.session}/${input.number} of generation ${input.generation} was to be refused with ${JSON.stringify(expected)}, and led to ${JSON.stringify(outputs)}`,
  );
}
