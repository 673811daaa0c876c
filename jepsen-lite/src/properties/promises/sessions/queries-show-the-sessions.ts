/** The listing of sessions shows each as it was created, whatever later attaches asked for. */

import type { SessionSummary } from '@holdfast/protocol';

import { difference } from '../../observation/difference.ts';
import { outputsOf, type Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

type Profile = Pick<SessionSummary, 'session' | 'label' | 'timeoutMs' | 'createdAt'>;

export function queriesShowTheSessions(): StatePromise {
  const sessions = new Map<number, Profile>();
  let createdAt = 0;
  return {
    name: 'the listing of sessions shows each as it was created',
    observe(step) {
      const { input, outputs, after } = step;
      if (input.type !== 'noop' && input.type !== 'unsupported') createdAt = Math.max(createdAt, step.stamp);
      for (const { session } of outputsOf(outputs, 'sessionCreated')) {
        if (input.type !== 'attach' || input.command === undefined) continue;
        const { label, timeoutMs } = input.command;
        sessions.set(session, { session, label, timeoutMs, createdAt });
      }
      for (const { session } of outputsOf(outputs, 'sessionEnded')) sessions.delete(session);
      const shown = after.summaries.map(profile);
      const expected = [...sessions.values()];
      const wrong =
        difference(shown, expected) ??
        difference(
          [...after.sessions.values()].map(({ id, label, timeoutMs }) => ({ id, label, timeoutMs })),
          expected.map(({ session, label, timeoutMs }) => ({ id: session, label, timeoutMs })),
        ) ??
        difference(after.counts.sessions, sessions.size) ??
        difference(pages(step, sessions.size), shown);
      demand(wrong === undefined, () => `of the sessions is shown:${wrong}`);
    },
  };
}

function profile({ session, label, timeoutMs, createdAt }: SessionSummary): Profile {
  return { session, label, timeoutMs, createdAt };
}

/** The listing as pages of two sessions each, at entries that begin or end one. */
function pages({ query, outputs, after }: Step, most: number): Profile[] {
  if (!outputs.some(({ type }) => type === 'sessionCreated' || type === 'sessionEnded'))
    return after.summaries.map(profile);
  const listed: Profile[] = [];
  for (let page = 0; page <= most; page += 1) {
    const answer = query({ type: 'sessions', after: listed.at(-1)?.session ?? 0, limit: 2 });
    if (answer.type !== 'sessions') break;
    listed.push(...answer.sessions.map(profile));
    if (!answer.more) break;
  }
  return listed;
}
