/** What was a session's goes in the entry that ends it, its memory included, and it never comes back. */

import { errorCode, outputsOf, type Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function endedSessionsLeaveNothing(): StatePromise {
  const ended = new Set<number>();
  return {
    name: 'an ended session leaves nothing and never comes back',
    observe(step) {
      refused(step, ended);
      for (const { session } of outputsOf(step.outputs, 'sessionEnded')) ended.add(session);
      const { after } = step;
      for (const [path, { stat }] of after.nodes) {
        demand(
          stat.ephemeralOwner === 0 || after.sessions.has(stat.ephemeralOwner),
          () => `${path} is still there, of session ${stat.ephemeralOwner}, which has ended`,
        );
      }
      for (const [lock, queue] of after.queues) {
        const left = queue.find(({ session }) => ended.has(session));
        demand(
          left === undefined,
          () => `acquire ${left?.acquireIndex} of lock ${lock} outlives its session ${left?.session}`,
        );
      }
      const shown = [...after.sessions.keys(), ...after.summaries.map(({ session }) => session)];
      const back = shown.find((session) => ended.has(session));
      demand(back === undefined, () => `session ${back} is shown, though it has ended`);
    },
  };
}

function refused({ index, input, outputs }: Step, ended: ReadonlySet<number>): void {
  const [attached] = outputsOf(outputs, 'attached');
  if (input.type === 'request' && ended.has(input.session)) {
    const [refusal] = outputsOf(outputs, 'refused');
    demand(
      refusal?.code === 'SESSION_EXPIRED' && refusal.lastApplied === 0 && outputs.length === 1,
      () => `a request of session ${input.session}, which has ended, led to ${JSON.stringify(outputs)}`,
    );
  } else if (input.type === 'attach' && input.command !== undefined && ended.has(input.command.session)) {
    const { session } = input.command;
    demand(
      errorCode(attached?.reply) === 'SESSION_EXPIRED',
      () => `session ${session}, which has ended, was attached again: ${JSON.stringify(attached)}`,
    );
  } else if (attached?.reply.type === 'attached' && attached.reply.session === index) {
    const { lastApplied, acquires, generation } = attached.reply;
    demand(
      lastApplied === 0 && acquires.length === 0 && generation === 1,
      () => `the new session ${index} begins with ${JSON.stringify(attached.reply)}`,
    );
  }
}
