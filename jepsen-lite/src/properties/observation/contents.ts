/** What two views show of the state itself, apart from the index, from how many requests each session has applied, and from what it has acknowledged. */

import type { SessionInfo } from '@holdfast/state';

import { difference } from './difference.ts';
import type { View } from './view.ts';

/** What of `left` is not as in `right`; undefined when nothing differs. */
export function contentsDifference(left: View, right: View): string | undefined {
  for (const part of ['counts', 'summaries', 'locks', 'queues', 'nodes'] as const) {
    const inside = difference(left[part], right[part]);
    if (inside !== undefined) return ` ${part}${inside}`;
  }
  const inside = difference(withoutNumbers(left), withoutNumbers(right));
  return inside === undefined ? undefined : ` sessions${inside}`;
}

function withoutNumbers(view: View): Omit<SessionInfo, 'lastApplied' | 'replyBytes'>[] {
  return [...view.sessions.values()].map(({ id, timeoutMs, generation, label, server, ending }) => ({
    id,
    timeoutMs,
    generation,
    label,
    server,
    ending,
  }));
}
