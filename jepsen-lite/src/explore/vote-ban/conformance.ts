/** Holds the steps that the real core took to the rules of the ban on voting. */

import type { ServerAction } from '../server/server.ts';
import type { Known } from '../server/server-table.ts';
import { RULES, type BannedOrNot } from './rules.ts';

interface JudgedStep {
  readonly before: Known;
  readonly after: Known;
  /** Undefined: a message was heard. */
  readonly action: ServerAction | undefined;
  /** Terms of the entries of a log. */
  readonly termsOf: (log: number) => readonly number[];
}

/** What the rules do not allow; undefined when they allow the step. */
export function deviation({ before, after, action, termsOf }: JudgedStep): string | undefined {
  const viewOf = ({ term, voteBan, durable }: Known): BannedOrNot => ({ term, log: termsOf(durable), ban: voteBan });
  const [old, now] = [viewOf(before), viewOf(after)];
  if (action?.type === 'damage') {
    // Nobody was told of a later one.
    const ban = RULES.banAfterLoss({ ...old, term: before.durableTerm });
    const right = now.ban === ban && now.term >= ban && after.votedFor === 0;
    return right ? undefined : `a ban since ${now.ban} in term ${now.term}, where it must be ${ban}`;
  }
  if (old.ban === undefined) return now.ban === undefined ? undefined : 'a ban without a loss';
  const lifted = now.ban === undefined;
  if (lifted && !RULES.mayLift({ ...now, ban: old.ban }, after.commit)) {
    return `the ban since ${old.ban} ends at commit ${after.commit} of the log [${now.log.join(' ')}]`;
  }
  if (!lifted && now.ban !== old.ban) return `the ban since ${old.ban} becomes one since ${now.ban}`;
  if (now.term < old.ban) return `term ${now.term} under a ban since ${old.ban}`;
  if (lifted || RULES.mayVote(now)) return undefined;
  return after.votedFor === 0 && after.role === 'follower'
    ? undefined
    : `a banned server votes for ${after.votedFor} as ${after.role} in term ${now.term}`;
}
