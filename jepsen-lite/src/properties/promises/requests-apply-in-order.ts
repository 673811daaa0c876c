/** Request n only after n − 1, only through the latest attachment; a refusal says where to go on and uses no number up. */

import { outputsOf, type RequestInput, type Step } from '../observation/step.ts';
import { demand, type StatePromise } from '../state-promise.ts';

export function requestsApplyInOrder(): StatePromise {
  const sessions = new Map<number, { generation: number; last: number }>();
  return {
    name: 'requests apply in the order of their numbers, without gaps',
    observe(step) {
      if (step.input.type === 'request') {
        const { number, session } = step.input;
        const known = sessions.get(session);
        answered(step, step.input, expectedRefusal(step.input, known));
        if (known !== undefined && outputsOf(step.outputs, 'reply').length > 0)
          known.last = Math.max(known.last, number);
      }
      for (const { reply } of outputsOf(step.outputs, 'attached')) {
        if (reply.type !== 'attached') continue;
        sessions.set(reply.session, { last: sessions.get(reply.session)?.last ?? 0, generation: reply.generation });
      }
      for (const { session } of outputsOf(step.outputs, 'sessionEnded')) sessions.delete(session);
    },
  };
}

/** Undefined for what must be applied or answered from memory; what memory has forgotten is another promise's. */
function expectedRefusal(
  input: RequestInput,
  known: { readonly generation: number; readonly last: number } | undefined,
): { readonly code: string; readonly lastApplied: number } | undefined {
  if (known === undefined) return { code: 'SESSION_EXPIRED', lastApplied: 0 };
  const lastApplied = known.last;
  if (input.generation !== known.generation) return { code: 'SESSION_MOVED', lastApplied };
  const inOrder = Number.isSafeInteger(input.number) && input.number <= lastApplied + 1;
  return inOrder ? undefined : { code: 'OUT_OF_ORDER', lastApplied };
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
      answer.code === expected.code &&
      answer.lastApplied === expected.lastApplied &&
      outputs.length === 1,
    () =>
      `request ${input.session}/${input.number} of generation ${input.generation} was to be refused with ${JSON.stringify(expected)}, and led to ${JSON.stringify(outputs)}`,
  );
}
