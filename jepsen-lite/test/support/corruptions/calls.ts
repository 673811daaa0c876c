/** What is promised of every call, broken. */

import type { Corruption } from './corruption.ts';
import { insertAfter, without } from './edits.ts';

export const CALL_CORRUPTIONS: readonly Corruption[] = [
  {
    what: 'a completion that comes twice',
    caughtBy: 'completions',
    corrupt: (history, pick) => {
      const completion = pick(history.filter((event) => event.type === 'ok' || event.type === 'fail'));
      return completion && insertAfter(history, history.at(-1), completion);
    },
  },
  {
    what: 'an answer that is lost',
    caughtBy: 'liveness',
    corrupt: (history, pick) => {
      const completion = pick(history.filter((event) => event.type === 'ok' || event.type === 'info'));
      return completion && without(history, completion);
    },
  },
];
