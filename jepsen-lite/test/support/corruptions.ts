/** Ways in which a run can break its promises: each changes one thing in a proper history, and names the checker that must see it. */

import type { CheckerName } from '../../src/checkers/check.ts';
import type { EventOf } from '../../src/history/calls.ts';
import { elementsOf, isListPath } from '../../src/history/list-nodes.ts';
import type { History, HistoryEvent } from '../../src/history/history.ts';
import { isRegisterPath } from '../../src/history/register-paths.ts';
import { GROUP_CORRUPTIONS } from './group/group-corruptions.ts';

export interface Corruption {
  readonly what: string;
  readonly caughtBy: CheckerName;
  /** Undefined where the history has no place for it. */
  readonly corrupt: (history: History, pick: Pick) => History | undefined;
}

/** One of them, or undefined of none. */
type Pick = <T>(candidates: readonly T[]) => T | undefined;

export const CORRUPTIONS: readonly Corruption[] = [
  ...GROUP_CORRUPTIONS,
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
    what: 'a wait that is taken out of its queue',
    caughtBy: 'waits',
    corrupt: (history, pick) => {
      const grants = ofType(history, 'granted').filter(({ hold, index }) => hold < index);
      const grant = pick(grants);
      if (grant === undefined) return undefined;
      const { token: _, ...named } = grant;
      const failed = history.some(
        (event) => event.type === 'fail' && event.f === 'acquire' && event.session === grant.session,
      );
      return failed
        ? undefined
        : change(history, grant, () => ({ ...named, type: 'removed', reason: 'cancelled' }) as never);
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
  {
    what: 'two tokens that are swapped',
    caughtBy: 'tokens',
    corrupt: swapTokens,
  },
  {
    what: 'two tokens that are swapped',
    caughtBy: 'linearizable-locks',
    corrupt: swapTokens,
  },
  {
    what: 'a token that is not the index of its entry',
    caughtBy: 'tokens',
    corrupt: (history, pick) =>
      change(history, pick(ofType(history, 'granted')), (grant) => ({ ...grant, token: grant.token - 1 })),
  },
  {
    what: 'a hold that was never granted',
    caughtBy: 'grants',
    corrupt: (history, pick) => {
      const known = pick(okAcquires(history));
      const grant = ofType(history, 'granted').find(({ hold }) => hold === known?.hold);
      return grant && without(history, grant);
    },
  },
  {
    what: 'a grant to somebody else',
    caughtBy: 'grants',
    corrupt: (history, pick) => {
      const known = pick(okAcquires(history));
      const grant = ofType(history, 'granted').find(({ hold }) => hold === known?.hold);
      return change(history, grant, (event) => ({ ...event, session: event.session + 1_000_000 }));
    },
  },
  {
    what: 'a hold that does not leave when it is released and the next is granted',
    caughtBy: 'owners',
    corrupt: (history, pick) => {
      const replaced = ofType(history, 'removed').filter(({ index }) =>
        ofType(history, 'granted').some((grant) => grant.index === index),
      );
      const removal = pick(replaced);
      return removal && without(history, removal);
    },
  },
  {
    what: 'a session that ends and keeps something',
    caughtBy: 'owners',
    corrupt: (history, pick) => {
      const removal = pick(ofType(history, 'removed').filter(({ reason }) => reason === 'expired'));
      return removal && without(history, removal);
    },
  },
  {
    what: 'a queue that is served out of order',
    caughtBy: 'order',
    corrupt: (history, pick) => {
      const grants = ofType(history, 'granted');
      const first = pick(
        grants.filter((grant) => grants.some((other) => other.lock === grant.lock && other.index > grant.index)),
      );
      const second = grants.find((other) => other.lock === first?.lock && other.index > first.index);
      if (first === undefined || second === undefined) return undefined;
      return history.map((event) => {
        if (event === first) return { ...first, hold: second.hold, session: second.session };
        return event === second ? { ...second, hold: first.hold, session: first.session } : event;
      });
    },
  },
  {
    what: 'a holder that believes after another was notified',
    caughtBy: 'exclusion',
    corrupt: believeAfterNext,
  },
  {
    what: 'a holder that believes after another was granted',
    caughtBy: 'belief',
    corrupt: believeAfterNext,
  },
  {
    what: 'a hold that is lost and found',
    caughtBy: 'belief',
    corrupt: (history, pick) => {
      const lost = pick(ofType(history, 'lost'));
      if (lost === undefined) return undefined;
      const { reason: _, ...named } = lost;
      return insertAfter(history, lost, { ...named, type: 'believe' });
    },
  },
  {
    what: 'a release that is done twice',
    caughtBy: 'releases',
    corrupt: (history, pick) => {
      const done = pick(history.filter((event) => event.type === 'ok' && event.f === 'release'));
      if (done === undefined) return undefined;
      const again = { ...done, call: 1_000_000 } as HistoryEvent;
      return insertAfter(history, done, { ...again, type: 'invoke' } as HistoryEvent, again);
    },
  },
  {
    what: 'a release that did nothing, since the hold had expired',
    caughtBy: 'releases',
    corrupt: (history, pick) => {
      const done = history.flatMap((event) => (event.type === 'ok' && event.f === 'release' ? [event.hold] : []));
      const removal = pick(ofType(history, 'removed').filter(({ hold }) => done.includes(hold)));
      return change(history, removal, (event) => ({ ...event, reason: 'expired' }));
    },
  },
  {
    what: 'a cancel that leaves the wait in the queue',
    caughtBy: 'ghosts',
    corrupt: (history, pick) => {
      const removal = pick(ofType(history, 'removed').filter(({ reason }) => reason === 'cancelled'));
      return removal && without(history, removal);
    },
  },
  {
    what: 'a session that expires though it was just renewed',
    caughtBy: 'expiry',
    corrupt: (history, pick) => {
      const ended = pick(ofType(history, 'ended-session').filter(({ reason }) => reason === 'expired'));
      if (ended === undefined) return undefined;
      const { seq, timeMs, process, session } = ended;
      return insertBefore(history, ended, { seq, timeMs, process, type: 'renewed', session, sentMs: timeMs - 10 });
    },
  },
  {
    what: 'an older token that is accepted late',
    caughtBy: 'fence',
    corrupt: (history, pick) => {
      const accepted = ofType(history, 'accepted').filter(({ bucket }) => bucket !== 'unfenced');
      const late = pick(accepted.filter((event) => accepted.some((other) => isBelow(event, other))));
      const higher = accepted.find((other) => late !== undefined && isBelow(late, other));
      return late && insertAfter(history, higher, late);
    },
  },
  {
    what: 'an older token that a restarted store accepts',
    caughtBy: 'fence',
    corrupt: (history, pick) => {
      const fences = history.filter((event) => event.type === 'ok' && event.f === 'fence');
      const late = pick(fences.filter((event) => fences.some((other) => isBelow(event, other))));
      if (late === undefined) return undefined;
      const again = { ...late, call: 1_000_000 } as HistoryEvent;
      return insertAfter(history, history.at(-1), { ...again, type: 'invoke' } as HistoryEvent, again);
    },
  },
  {
    what: 'a token that nobody granted',
    caughtBy: 'granted-tokens',
    corrupt: (history, pick) => {
      const accepted = pick(ofType(history, 'accepted').filter(({ bucket }) => bucket !== 'unfenced'));
      return change(history, accepted, (event) => ({ ...event, token: event.token + 1_000_000 }));
    },
  },
  {
    what: 'an update that is gone again',
    caughtBy: 'lost-updates',
    corrupt: (history, pick) => readAgainLater(history, pick),
  },
  {
    what: 'a read of a value that nobody has written',
    caughtBy: 'registers',
    corrupt: (history, pick) => {
      const reads = history.filter(
        (event) => event.type === 'ok' && ((event.f === 'read' && isRegisterPath(event.path)) || event.f === 'get'),
      );
      const read = pick(reads);
      return read && history.map((event) => (event === read ? ({ ...read, value: '0:0' } as HistoryEvent) : event));
    },
  },
  {
    what: 'a read of the store that goes back in time',
    caughtBy: 'registers',
    corrupt: (history, pick) => readAgainLater(history, pick),
  },
];

/** Somebody keeps believing, though the lock went on to another who was known so; not after a revocation, which allows it. */
function swapTokens(history: History, pick: Pick): History | undefined {
  const known = exclusiveAcquires(history);
  const pairs = known.flatMap((first, n) => {
    const second = known.find(
      (other, m) => m > n && other.lock === first.lock && invokedAt(history, other) > first.seq,
    );
    return second === undefined ? [] : [[first, second] as const];
  });
  const pair = pick(pairs);
  if (pair === undefined) return undefined;
  const [first, second] = pair;
  return history.map((event) => {
    if (event === first) return { ...first, token: second.token };
    return event === second ? { ...second, token: first.token } : event;
  });
}

function believeAfterNext(history: History, pick: Pick): History | undefined {
  const known = exclusiveAcquires(history);
  const revoked = new Set(
    ofType(history, 'removed').flatMap(({ hold, reason }) => (reason === 'revoked' ? [hold] : [])),
  );
  const pairs = known.flatMap((first) => {
    if (revoked.has(first.hold)) return [];
    const next = known.find((other) => other.lock === first.lock && other.token > first.token);
    return next === undefined || revoked.has(next.hold) ? [] : [[first, next] as const];
  });
  const pair = pick(pairs);
  if (pair === undefined) return undefined;
  const [{ seq, timeMs, process, lock, session, token, hold }, next] = pair;
  return insertAfter(history, next, { seq, timeMs, process, type: 'believe', lock, session, token, hold });
}

/** A read that showed one state is repeated after another state is known for certain. */
function readAgainLater(history: History, pick: Pick): History | undefined {
  const reads = history.filter((event) => event.type === 'ok' && event.f === 'get');
  const changed = reads.filter((read) =>
    reads.some((other) => other.seq > read.seq && sameRegister(read, other) && valueOf(other) !== valueOf(read)),
  );
  const read = pick(changed);
  if (read === undefined) return undefined;
  const { value: _, ...question } = { ...read, call: 1_000_000 } as HistoryEvent & { readonly value: unknown };
  const again = { ...read, call: 1_000_000 } as HistoryEvent;
  return insertAfter(history, history.at(-1), { ...question, type: 'invoke' } as unknown as HistoryEvent, again);
}

function sameRegister(one: HistoryEvent, other: HistoryEvent): boolean {
  return 'bucket' in one && 'bucket' in other && one.bucket === other.bucket;
}

function valueOf(event: HistoryEvent): unknown {
  return 'value' in event ? event.value : undefined;
}

function isBelow(event: HistoryEvent, other: HistoryEvent): boolean {
  if (!('bucket' in event) || !('bucket' in other) || event.bucket !== other.bucket) return false;
  return tokenOf(event) < tokenOf(other);
}

function tokenOf(event: HistoryEvent): number {
  return ('token' in event ? event.token : undefined) ?? 0;
}

function okAcquires(history: History): Extract<HistoryEvent, { readonly type: 'ok'; readonly f: 'acquire' }>[] {
  return history.filter((event) => event.type === 'ok').filter((event) => event.f === 'acquire');
}

/** Of locks that one holds at a time, one of them an acquire. */
function exclusiveAcquires(history: History): ReturnType<typeof okAcquires> {
  return okAcquires(history).filter(({ asked, others }) => asked === undefined && others === undefined);
}

function invokedAt(history: History, { call }: { readonly call: number }): number {
  return history.find((event) => event.type === 'invoke' && event.call === call)?.seq ?? 0;
}

function ofType<T extends HistoryEvent['type']>(history: History, type: T): EventOf<T>[] {
  return history.filter((event): event is EventOf<T> => event.type === type);
}

function change<E extends HistoryEvent>(
  history: History,
  event: E | undefined,
  how: (event: E) => HistoryEvent,
): History | undefined {
  return event && history.map((each) => (each === event ? how(event) : each));
}

function without(history: History, event: HistoryEvent): History {
  return history.filter((each) => each !== event);
}

function insertAfter(history: History, place: HistoryEvent | undefined, ...events: readonly HistoryEvent[]): History {
  return renumber(history.flatMap((each) => (each === place ? [each, ...events] : [each])));
}

function insertBefore(history: History, place: HistoryEvent, event: HistoryEvent): History {
  return renumber(history.flatMap((each) => (each === place ? [event, each] : [each])));
}

function renumber(events: readonly HistoryEvent[]): History {
  return events.map((event, position) => ({ ...event, seq: position + 1 }));
}

function toldByWatches(history: History): EventOf<'watched'>[] {
  return ofType(history, 'watched').filter(({ event }) => event === 'changed');
}
