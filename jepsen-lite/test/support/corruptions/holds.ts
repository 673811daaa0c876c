/** What is promised of tokens, grants, queues, holders, releases and expiries, broken. */

import type { History, HistoryEvent } from '../../../src/history/history.ts';
import type { Corruption, Pick } from './corruption.ts';
import { change, insertAfter, insertBefore, ofType, without } from './edits.ts';

export const HOLD_CORRUPTIONS: readonly Corruption[] = [
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
];

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

/** Somebody keeps believing, though the lock went on to another who was known so; not after a revocation, which allows it. */
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
