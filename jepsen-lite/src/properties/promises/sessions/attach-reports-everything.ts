/** Attaching finds the session of a secret or makes it, and says exactly what has been applied of it and what it waits for and holds. */

import type { Reply } from '@holdfast/protocol';

import { changed, leads, type ReportedAcquire } from '../../observation/acquires.ts';
import { difference } from '../../observation/difference.ts';
import { freshReply, outputsOf, type Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

interface Known {
  readonly secret: string;
  readonly session: number;
  readonly timeoutMs: number;
  generation: number;
  lastApplied: number;
  ending?: boolean;
}

export function attachReportsEverything(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  const sessions = new Map<number, Known>();
  return {
    name: 'attaching reports the last request, every wait and every hold',
    observe(step) {
      if (step.input.type === 'attach') attached(step, step.input, sessions, acquires);
      const fresh = freshReply(step) !== undefined && step.input.type === 'request' ? step.input.session : 0;
      const session = sessions.get(fresh);
      if (session !== undefined) session.lastApplied += 1;
      for (const { session: ending } of outputsOf(step.outputs, 'sessionEnding')) {
        const known = sessions.get(ending);
        if (known !== undefined) known.ending = true;
      }
      for (const change of step.changes) {
        acquires = changed(acquires, change);
        if (change.type === 'ended') sessions.delete(change.session);
      }
    },
  };
}

function attached(
  { index, outputs }: Step,
  { command, server, correlation }: Extract<Step['input'], { type: 'attach' }>,
  sessions: Map<number, Known>,
  acquires: readonly ReportedAcquire[],
): void {
  const [output] = outputsOf(outputs, 'attached');
  demand(
    output?.server === server && output.correlation === correlation,
    () => `attach ${correlation} of server ${server} led to ${JSON.stringify(outputs)}`,
  );
  const { reply } = output;
  const created = outputsOf(outputs, 'sessionCreated').map(({ session }) => session);
  if (command === undefined) return expectError(reply, 'INVALID_ARGUMENT', created);
  const secret = String.fromCharCode(...command.secretHash);
  const known = [...sessions.values()].find((session) => session.secret === secret);
  if (command.session !== 0 && known?.session !== command.session)
    return expectError(reply, 'SESSION_EXPIRED', created);
  if (known?.ending === true) return expectError(reply, 'OVERLOADED', created);
  if (known === undefined && reply.type === 'error') return expectError(reply, 'LIMIT_EXCEEDED', created);

  const session = known ?? { secret, session: index, timeoutMs: command.timeoutMs, generation: 0, lastApplied: 0 };
  session.generation += 1;
  sessions.set(session.session, session);
  const { session: id, generation, timeoutMs, lastApplied } = session;
  const own = leads(acquires.filter((acquire) => acquire.session === id));
  const expected = {
    type: 'attached',
    session: id,
    generation,
    timeoutMs,
    lastApplied,
    acquires: own.map(({ lock, acquireIndex, token }) => ({ lock, acquireIndex, token })),
  };
  const wrong = difference(reply, expected) ?? difference(created, known === undefined ? [id] : []);
  demand(wrong === undefined, () => `the answer to attach of session ${id}:${wrong}`);
}

function expectError(reply: Reply, code: string, created: readonly number[]): void {
  demand(
    reply.type === 'error' && reply.code === code && created.length === 0,
    () => `attach was to be answered ${code}, and was answered ${JSON.stringify(reply)}`,
  );
}
