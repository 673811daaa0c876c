/** What is promised of shared locks, semaphores, several locks, entries, deadlocks and delays, broken. */

import type { EventOf } from '../../../src/history/calls.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import type { Corruption } from './corruption.ts';
import { change, ofType, without } from './edits.ts';

export const LOCK_KIND_CORRUPTIONS: readonly Corruption[] = [
  {
    what: 'a value that changes under those who read it',
    caughtBy: 'shared-reads',
    corrupt: (history) => {
      const isLook = (event: HistoryEvent): event is EventOf<'ok'> & { readonly f: 'get' } =>
        event.type === 'ok' && event.f === 'get' && event.bucket === 'read-write';
      const last = history.findLast(isLook);
      return last && change(history, last, (event) => ({ ...event, value: '9:9' }) as never);
    },
  },
  {
    what: 'a writer beside one who reads',
    caughtBy: 'owners',
    corrupt: (history) => {
      const reader = ofType(history, 'granted').findLast(({ lock }) => lock === 'read-write');
      return (
        reader && change(history, reader, (event) => ({ ...event, asked: { type: 'readWrite', write: true } }) as never)
      );
    },
  },
  {
    what: 'permits that there are not',
    caughtBy: 'owners',
    corrupt: (history) => {
      const holder = ofType(history, 'granted').find(({ lock }) => lock === 'permits');
      const asked = { type: 'semaphore', permits: 3, limit: 3 } as const;
      return holder && change(history, holder, (event) => ({ ...event, asked }) as never);
    },
  },
  {
    what: 'one of several locks that is not granted with the others',
    caughtBy: 'several',
    corrupt: (history, pick) => {
      const grant = pick(ofType(history, 'granted').filter(({ lock }) => lock.startsWith('account-')));
      return grant && without(history, grant);
    },
  },
  {
    what: 'an amount that is gone',
    caughtBy: 'transfers',
    corrupt: (history) => {
      const isAudit = (event: HistoryEvent): event is EventOf<'ok'> & { readonly f: 'get' } =>
        event.type === 'ok' && event.f === 'get' && event.key === 'amount' && event.value !== null;
      const read = history.find(isAudit);
      return read && change(history, read, (event) => ({ ...event, value: null }) as never);
    },
  },
  {
    what: 'an entry under another token',
    caughtBy: 'entries',
    corrupt: (history) => {
      const isEntry = (event: HistoryEvent): event is EventOf<'ok'> & { readonly f: 'enter' } =>
        event.type === 'ok' && event.f === 'enter';
      const last = history.findLast(isEntry);
      return last && change(history, last, (event) => ({ ...event, token: event.token + 1 }) as never);
    },
  },
  {
    what: 'a deadlock that goes on',
    caughtBy: 'deadlocks',
    corrupt: (history) => {
      const removal = ofType(history, 'removed').find(({ reason }) => reason === 'deadlock');
      return removal && without(history, removal);
    },
  },
  {
    what: 'a wait that is ended as one in a deadlock, and was in none',
    caughtBy: 'deadlocks',
    corrupt: (history) => {
      const asked = ofType(history, 'enqueued').findLast(({ lock }) => lock === 'a-crossed');
      return asked && without(history, asked);
    },
  },
  {
    what: 'a lock that is granted before its delay is over',
    caughtBy: 'delays',
    corrupt: (history) =>
      history.map((event) => ('delayMs' in event ? ({ ...event, delayMs: 60_000 } as HistoryEvent) : event)),
  },
  {
    what: 'a delay after a release',
    caughtBy: 'delays',
    corrupt: (history) => {
      const last = ofType(history, 'granted').findLast(({ lock }) => lock === 'delayed');
      return last && without(history, last);
    },
  },
  {
    what: 'a delay that never ends',
    caughtBy: 'liveness',
    corrupt: (history) => {
      const [lost] = ofType(history, 'granted').filter(({ lock }) => lock === 'delayed');
      const isLater = (event: HistoryEvent): boolean =>
        'lock' in event && event.lock === 'delayed' && 'hold' in event && event.hold !== lost?.hold;
      return history.filter((event) => event.type === 'enqueued' || !isLater(event));
    },
  },
];
