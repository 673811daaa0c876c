/** A session ends by its own close, an operator's, or an expiry that names its generation: told once, last, and with the reason. */

import { appliedCommand, outputsOf, type Step } from '../observation/step.ts';
import { difference } from '../observation/difference.ts';
import { demand, type StatePromise } from '../state-promise.ts';

export function sessionsEndForAReason(): StatePromise {
  return {
    name: 'a session ends only when it is closed or expired, and its losses are told',
    observe(step) {
      const { outputs, before, after } = step;
      const ends = expectedEnd(step);
      const told = outputsOf(outputs, 'sessionEnded').map(({ session, reason }) => ({ session, reason }));
      const wrong = difference(told, ends === undefined ? [] : [ends]);
      demand(wrong === undefined, () => `of sessions that end was told${wrong}`);
      demand(
        ends === undefined || outputs.at(-1)?.type === 'sessionEnded',
        () => 'the end of a session was not told last',
      );
      for (const id of before.sessions.keys()) {
        demand(
          after.sessions.has(id) === (id !== ends?.session),
          () => `session ${id} ${after.sessions.has(id) ? 'lives on' : 'is gone'}`,
        );
      }
      const losses = difference(outputsOf(outputs, 'lost'), expectedLosses(step));
      demand(losses === undefined, () => `of losses was told${losses}`);
    },
  };
}

function expectedEnd(step: Step): { readonly session: number; readonly reason: string } | undefined {
  const { input, before } = step;
  if (input.type === 'expire') {
    const { session = 0, generation } = input.command ?? {};
    return before.sessions.get(session)?.generation === generation && generation !== undefined
      ? { session, reason: 'expired' }
      : undefined;
  }
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'closeSession') return undefined;
  const session = applied.command.session === 0 ? applied.session : applied.command.session;
  const lives = before.sessions.has(session);
  demand(
    applied.reply.type === (lives ? 'done' : 'error'),
    () => `closing session ${session} was answered ${JSON.stringify(applied.reply)}`,
  );
  return lives ? { session, reason: session === applied.session ? 'closed' : 'revoked' } : undefined;
}

/** An operator's deletion of a queue node is told to the session that loses by it. */
function expectedLosses(step: Step): readonly unknown[] {
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'delete' || applied.reply.type !== 'done') return [];
  const czxid = step.before.nodes.get(applied.command.path)?.stat.czxid;
  for (const [lock, queue] of step.before.queues) {
    const entry = queue.find(({ acquireIndex }) => acquireIndex === czxid);
    if (entry === undefined || !applied.command.path.startsWith('/locks/')) continue;
    const { session, acquireIndex } = entry;
    return [{ type: 'lost', session, lock, acquireIndex, reason: 'revoked' }];
  }
  return [];
}
