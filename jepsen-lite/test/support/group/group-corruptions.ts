/** Ways in which a group of replicas can break its promises. */

import type { History, HistoryEvent } from '../../../src/history/history.ts';
import type { Corruption } from '../corruptions/corruption.ts';
import { ofType } from '../corruptions/edits.ts';

type Read = Extract<HistoryEvent, { readonly type: 'ok'; readonly f: 'kv-get' }>;

function withEvent<E extends HistoryEvent>(
  history: History,
  event: E | undefined,
  changes: Partial<E>,
): History | undefined {
  return event && history.map((each) => (each === event ? { ...event, ...changes } : each));
}

function readsOf(history: History): readonly Read[] {
  return history.flatMap((event) => (event.type === 'ok' && event.f === 'kv-get' ? [event] : []));
}

/** Of a key that is there, when nobody writes any more. */
function lastFound(history: History): Read | undefined {
  const quiet = history.find((event) => event.type === 'phase' && event.phase === 'quiet')?.seq ?? Infinity;
  return readsOf(history).findLast(({ value, seq }) => value !== null && seq > quiet);
}

export const GROUP_CORRUPTIONS: readonly Corruption[] = [
  {
    what: 'a value that nobody has written to the replicas',
    caughtBy: 'linearizable-keys',
    corrupt: (history, pick) => withEvent(history, pick(readsOf(history)), { value: 'another', revision: 9_999 }),
  },
  {
    what: 'a value of the replicas under another revision',
    caughtBy: 'linearizable-keys',
    // Those of the quiet end are made by all clients.
    corrupt: (history) => withEvent(history, lastFound(history), { revision: 9_999 }),
  },
  {
    what: 'a last reading that finds nothing of a write that was acknowledged',
    caughtBy: 'linearizable-keys',
    // Whatever else is unknown, the replicas have it still.
    corrupt: (history) => withEvent(history, lastFound(history), { value: null, revision: null }),
  },
  {
    what: 'an answer in an epoch that is over',
    caughtBy: 'epochs',
    corrupt: (history) => {
      const last = readsOf(history).at(-1);
      return last && last.epoch > 1 ? withEvent(history, last, { epoch: 1 }) : undefined;
    },
  },
  {
    what: 'an epoch that nobody has claimed',
    caughtBy: 'epochs',
    corrupt: (history) => withEvent(history, readsOf(history).at(-1), { epoch: 9_999 }),
  },
  {
    what: 'an in-sync set that has nothing in common with the one before',
    caughtBy: 'configurations',
    corrupt: (history, pick) => {
      const claim = pick(ofType(history, 'configured').filter(({ epoch }) => epoch > 1));
      return withEvent(history, claim, { primary: 'r9', inSync: ['r9'] });
    },
  },
  {
    what: 'a configuration that was overwritten by one who had not read it',
    caughtBy: 'configurations',
    corrupt: (history, pick) => {
      const [, ...later] = ofType(history, 'configured').slice(0, -1);
      const lost = pick(later);
      return lost && history.filter((event) => event !== lost);
    },
  },
  {
    what: 'a replica that lacks a key',
    caughtBy: 'replicas',
    corrupt: (history, pick) => {
      const lost = pick(ofType(history, 'kept'));
      return lost && history.filter((event) => event !== lost);
    },
  },
  {
    what: 'a replica that has another fence',
    caughtBy: 'replicas',
    corrupt: (history, pick) => withEvent(history, pick(ofType(history, 'kept-all')), { digest: 'another' }),
  },
];
