/**
 * A session ends by its own close, an operator's, or an expiry that names its generation: reported once, last, and with the reason. One with
 * more nodes than an entry removes ends with the entry that removes the last of them, and until then is over.
 */

import { LIMITS } from '../../limits.ts';
import { leads } from '../../observation/acquires.ts';
import { appliedCommand, outputsOf, type Step } from '../../observation/step.ts';
import { difference } from '../../observation/difference.ts';
import { takenAway } from '../../observation/taken-away.ts';
import { allAcquires } from '../../observation/view.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

interface End {
  readonly session: number;
  readonly reason: string;
}

export function sessionsEndForAReason(): StatePromise {
  const ending = new Map<number, string>();
  return {
    name: 'a session ends only when it is closed or expired, and its losses are reported',
    observe(step) {
      const { outputs, before, after } = step;
      const closed = expectedEnd(step, ending);
      const over = closed !== undefined && nodesOf(step, closed.session) > LIMITS.maxNodesPerEnd ? closed : undefined;
      const ends = over === undefined ? (closed ?? lastSlice(step, ending)) : undefined;
      const begun = difference(
        outputsOf(outputs, 'sessionEnding').map(({ session }) => session),
        over === undefined ? [] : [over.session],
      );
      demand(begun === undefined, () => `of sessions that are over was reported${begun}`);
      const survived = difference(
        outputsOf(outputs, 'sessionSurvived').map(({ session }) => session),
        outlived(step, ending),
      );
      demand(survived === undefined, () => `of sessions that survive their expiry was reported${survived}`);
      const reported = outputsOf(outputs, 'sessionEnded').map(({ session, reason }) => ({ session, reason }));
      const wrong = difference(reported, ends === undefined ? [] : [ends]);
      demand(wrong === undefined, () => `of sessions that end was reported${wrong}`);
      demand(
        ends === undefined || outputs.at(-1)?.type === 'sessionEnded',
        () => 'the end of a session was not reported last',
      );
      for (const id of before.sessions.keys()) {
        demand(
          after.sessions.has(id) === (id !== ends?.session),
          () => `session ${id} ${after.sessions.has(id) ? 'lives on' : 'is gone'}`,
        );
      }
      // What ends in a deadlock is looked at by another promise.
      const lost = outputsOf(outputs, 'lost').filter((loss) => loss.reason !== 'deadlock');
      const losses = difference(lost, over === undefined ? revoked(step) : lossesOf(step, over));
      demand(losses === undefined, () => `of losses was reported${losses}`);
      if (over !== undefined) ending.set(over.session, over.reason);
      if (ends !== undefined) ending.delete(ends.session);
    },
  };
}

function nodesOf({ before }: Step, session: number): number {
  return before.summaries.find((summary) => summary.session === session)?.ephemerals ?? 0;
}

function lastSlice(step: Step, ending: ReadonlyMap<number, string>): End | undefined {
  const { input } = step;
  const session = input.type === 'continue' ? (input.command?.session ?? 0) : 0;
  const reason = ending.get(session);
  return reason !== undefined && nodesOf(step, session) <= LIMITS.maxNodesPerEnd ? { session, reason } : undefined;
}

/** Whom an expiry of an earlier attachment names. */
function outlived({ input, before }: Step, ending: ReadonlyMap<number, string>): readonly number[] {
  if (input.type !== 'expire' || input.command === undefined) return [];
  const { session, generation } = input.command;
  const known = before.sessions.get(session);
  return known === undefined || ending.has(session) || known.generation === generation ? [] : [session];
}

function expectedEnd(step: Step, ending: ReadonlyMap<number, string>): End | undefined {
  const { input, before, outputs } = step;
  if (input.type === 'expire') {
    const { session = 0, generation } = input.command ?? {};
    const lives = before.sessions.get(session)?.generation === generation && generation !== undefined;
    return lives && !ending.has(session) ? { session, reason: 'expired' } : undefined;
  }
  // Its own close is answered when nothing is left.
  const own = outputsOf(outputs, 'sessionEnding').some(
    ({ session }) => input.type === 'request' && session === input.session,
  );
  if (own && input.type === 'request') return { session: input.session, reason: 'closed' };
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'closeSession') return undefined;
  const session = applied.command.session === 0 ? applied.session : applied.command.session;
  const lives = before.sessions.has(session);
  demand(
    applied.reply.type === (lives ? 'done' : 'error'),
    () => `closing session ${session} was answered ${JSON.stringify(applied.reply)}`,
  );
  if (!lives || ending.has(session)) return undefined;
  return { session, reason: session === applied.session ? 'closed' : 'revoked' };
}

/** Of a session that is over, and whose end is reported later: everything that it waited for and held. */
function lossesOf({ before }: Step, { session, reason }: End): readonly unknown[] {
  return leads(allAcquires(before).filter((acquire) => acquire.session === session))
    .toSorted((left, right) => left.acquireIndex - right.acquireIndex)
    .map(({ lock, acquireIndex }) => ({ type: 'lost', session, lock, acquireIndex, reason }));
}

/** What an operator takes away is reported to the sessions that lose by it. */
function revoked(step: Step): readonly unknown[] {
  const taken = takenAway(step);
  if (taken.length === 0) return [];
  const known = leads(allAcquires(step.before));
  return taken.flatMap((index) =>
    known
      .filter(({ acquireIndex }) => acquireIndex === index)
      .map(({ session, lock, acquireIndex }) => ({ type: 'lost', session, lock, acquireIndex, reason: 'revoked' })),
  );
}
