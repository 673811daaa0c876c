/** The recorded events as lines for people. */

import type { StoryEvent, StoryFact } from './event.ts';

/** In the order in which it happened, with seconds since the first event. */
export function renderTimeline(events: readonly StoryEvent[]): string {
  const start = events[0]?.at ?? 0;
  return events
    .map(
      ({ at, who, fact }) =>
        `${((at - start) / 1_000).toFixed(3).padStart(8)} s  ${who.padEnd(4)}  ${describe(fact)}\n`,
    )
    .join('');
}

function describe(fact: StoryFact): string {
  switch (fact.type) {
    case 'connected':
      return 'has a session';
    case 'waiting':
      return 'asks for the lock';
    case 'granted':
      return `is granted the lock with token ${fact.token}`;
    case 'installed':
      return `installs token ${fact.token} at the fenced bucket`;
    case 'read':
      return `reads ${fact.value === null ? 'nothing' : `"${fact.value}"`} from the ${fact.bucket} bucket`;
    case 'wrote':
      return `writes "${fact.value}" to the ${fact.bucket} bucket: accepted`;
    case 'sessions':
      return `asks the ensemble who has a session: ${fact.of.join(', ')}`;
    case 'checked':
      return 'finds its lease in order and is about to write again';
    case 'refused':
      return `writes to the ${fact.bucket} bucket: refused, ${fact.code}, presented ${fact.presented}, highest ${fact.highest}`;
    case 'lost':
      return `hears that its lock is lost (${fact.reason})`;
    case 'failed':
      return `fails: ${fact.message}`;
    case 'stopped':
      return 'stops process A (SIGSTOP), which knows nothing of it';
    case 'resumed':
      return 'wakes process A (SIGCONT), which goes on where it was';
    case 'found':
      return `finds ${fact.value === null ? 'nothing' : `"${fact.value}"`} in the ${fact.bucket} bucket`;
  }
}
