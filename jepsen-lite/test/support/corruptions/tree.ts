/** What is promised of nodes, transactions, lists and watches, broken. */

import type { EventOf } from '../../../src/history/calls.ts';
import { elementsOf, isListPath } from '../../../src/history/list-nodes.ts';
import type { History, HistoryEvent } from '../../../src/history/history.ts';
import type { Corruption } from './corruption.ts';
import { change, insertAfter, ofType } from './edits.ts';

export const TREE_CORRUPTIONS: readonly Corruption[] = [
  {
    what: 'a transaction that is done in part',
    caughtBy: 'transactions',
    corrupt: (history, pick) => {
      const isOfAccount = (event: HistoryEvent): event is EventOf<'ok'> & { readonly f: 'read' } =>
        event.type === 'ok' && event.f === 'read' && event.path.startsWith('/bank-') && (event.version ?? 0) > 0;
      const read = pick(history.filter(isOfAccount));
      return read && change(history, read, (event) => ({ ...event, value: '100 0', version: 0 }) as never);
    },
  },
  {
    what: 'a transaction that fails and uses a number',
    caughtBy: 'transactions',
    corrupt: (history, pick) => {
      const listed = history.findLast(
        (event) => event.type === 'ok' && event.f === 'list' && event.path === '/bank-0/book',
      );
      if (listed?.type !== 'ok' || listed.f !== 'list' || listed.names === null) return undefined;
      const { names } = listed;
      const lost = pick(names.slice(0, -1));
      if (lost === undefined) return undefined;
      return change(history, listed, (event) => ({ ...event, names: names.filter((name) => name !== lost) }) as never);
    },
  },
  {
    what: 'a node that goes before its time to live is over',
    caughtBy: 'ttl-nodes',
    corrupt: (history) => {
      const made = history.find(
        (event) => event.type === 'invoke' && event.f === 'create' && event.ttlMs !== undefined,
      );
      return made && change(history, made, (event) => ({ ...event, ttlMs: 60_000 }) as never);
    },
  },
  {
    what: 'a container that goes with a child in it',
    caughtBy: 'containers',
    corrupt: (history) => {
      const isDrop = (event: HistoryEvent): boolean =>
        'f' in event && event.f === 'delete' && event.path.startsWith('/containers/');
      return history.some(isDrop) ? history.filter((event) => !isDrop(event)) : undefined;
    },
  },
  {
    what: 'an event that a watch does not tell',
    caughtBy: 'watches',
    corrupt: (history, pick) => {
      const lost = pick(toldByWatches(history).filter(({ index }) => index > 101 && index < 105));
      return lost === undefined ? undefined : history.filter((event) => event !== lost);
    },
  },
  {
    what: 'an event that a watch tells twice',
    caughtBy: 'watches',
    corrupt: (history, pick) => {
      const twin = pick(toldByWatches(history));
      return twin === undefined ? undefined : insertAfter(history, twin, twin);
    },
  },
  {
    what: 'a sequential create that is done twice',
    caughtBy: 'exactly-once',
    corrupt: (history, pick) => {
      const last = history.findLast((event) => event.type === 'ok' && event.f === 'list');
      if (last?.type !== 'ok' || last.f !== 'list' || last.names === null) return undefined;
      const { names } = last;
      const twin = pick(names)?.replace(/\d{10}$/, String(names.length).padStart(10, '0'));
      return twin === undefined ? undefined : change(history, last, (event) => ({ ...event, names: [...names, twin] }));
    },
  },
  {
    what: 'a list whose last elements are gone at last',
    caughtBy: 'list-append',
    corrupt: (history, pick) => {
      const reads = history.filter((event) => event.type === 'ok' && event.f === 'read' && isListPath(event.path));
      const last = reads.at(-1);
      if (last?.type !== 'ok' || last.f !== 'read' || last.value === null || last.value === '') return undefined;
      const elements = elementsOf(last.value);
      const acknowledged = history.flatMap((event) =>
        event.type === 'ok' && event.f === 'set' && isListPath(event.path) ? elementsOf(event.value).length : [],
      );
      const least = Math.max(0, ...acknowledged);
      const kept = pick(Array.from({ length: least }, (_, n) => n));
      return kept === undefined
        ? undefined
        : change(history, last, (event) => ({ ...event, value: elements.slice(0, kept).join(' ') }));
    },
  },
];

function toldByWatches(history: History): EventOf<'watched'>[] {
  return ofType(history, 'watched').filter(({ event }) => event === 'changed');
}
