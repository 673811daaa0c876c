/**
 * Only an applied `ackedUpTo` makes a session's memory forget, and it makes it forget no more than it says. What is kept is counted, and
 * who keeps more than its share is refused until it acknowledges.
 */

import { MAX_REMEMBERED_REPLIES, type Reply } from '@holdfast/protocol';

import { LIMITS } from '../../limits.ts';
import { freshReply, outputsOf, type Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

/** A session may keep up to one so-many-th of what is free for all. */
const SHARES = 16;

interface Kept {
  upTo: number;
  /** What the answer to request n counts for is at n − 1. */
  readonly costs: number[];
}

export function answersLiveUntilAcknowledged(): StatePromise {
  const sessions = new Map<number, Kept>();
  return {
    name: 'an answer is remembered until it is acknowledged, and no longer',
    observe(step) {
      const { input, after, outputs } = step;
      if (input.type === 'request') requested(step, input, sessions);
      for (const { session } of outputsOf(outputs, 'sessionEnded')) sessions.delete(session);
      const own = [...after.sessions.values()].reduce((sum, { replyBytes }) => sum + replyBytes, 0);
      demand(own === after.replyBytes, () => `${after.replyBytes} bytes are counted for all, and ${own} for each`);
    },
  };
}

function requested(step: Step, input: Extract<Step['input'], { type: 'request' }>, sessions: Map<number, Kept>): void {
  const { before, after, outputs } = step;
  const session = before.sessions.get(input.session);
  const { number, ackedUpTo } = input;
  const attached = session?.generation === input.generation && session.server === input.via;
  if (!attached || session.ending || !Number.isSafeInteger(number)) return;
  const last = session.lastApplied;
  if (number > last + 1) return;
  const kept = sessions.get(session.id) ?? { upTo: 0, costs: [] };
  sessions.set(session.id, kept);
  // A request cannot acknowledge itself, nor what comes after it.
  const now = Number.isSafeInteger(ackedUpTo) ? Math.min(ackedUpTo, number - 1, last) : 0;
  const upTo = Math.max(now, kept.upTo);
  const forgotten = sum(kept.costs.slice(kept.upTo, upTo));
  kept.upTo = upTo;
  const own = session.replyBytes - forgotten;
  const room = last - upTo < MAX_REMEMBERED_REPLIES && own < share(before.replyBytes - forgotten);
  // Its own close, over several entries: it is answered by the last of them.
  if (outputsOf(outputs, 'sessionEnding').some((ending) => ending.session === session.id)) return;
  const remembered = number > upTo && (number <= last || room);
  const [reply] = outputsOf(outputs, 'reply');
  demand(
    (reply !== undefined) === remembered,
    () =>
      `request ${session.id}/${number} ${reply === undefined ? 'was not answered' : 'was answered'}, where ${last} were applied, ${upTo} acknowledged, and ${own} bytes kept`,
  );
  const present = after.sessions.get(session.id);
  if (present === undefined) return;
  const fresh = freshReply(step);
  const cost = present.replyBytes - own;
  if (fresh === undefined) return demand(cost === 0, () => `a request that was not applied counts for ${cost} bytes`);
  kept.costs.push(cost);
  demand(cost >= textOf(fresh), () => `an answer counts for ${cost} bytes: ${JSON.stringify(fresh)}`);
}

function share(keptByAll: number): number {
  const free = Math.floor((LIMITS.maxReplyBytes - keptByAll) / SHARES);
  return Math.max(LIMITS.leastReplyBytesPerSession, Math.min(LIMITS.maxReplyBytesPerSession, free));
}

/** The least that it takes. */
function textOf(reply: Reply): number {
  if (reply.type === 'error' || reply.type === 'transactionFailed') return reply.message.length;
  if (reply.type === 'transaction') return reply.results.length;
  return reply.type === 'created' ? reply.path.length : 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
