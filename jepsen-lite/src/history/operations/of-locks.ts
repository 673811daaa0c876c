/**
 * The locks of a recorded run as operations on independent objects, each kind as its model takes them. A lock is of the kind of which it is
 * asked for: nobody may use one in two ways at a time, and no workload does so one after the other. What only the servers saw is left out,
 * but for what operators took away: this is the view from outside.
 *
 * A session ends at the servers when they say so, which no client sees: it may be later than the client takes it for over, or never, where
 * a client was killed. So the end of each session is an operation of unknown outcome, that frees what the session holds. It cannot come
 * before the last thing that the session was answered to have done.
 */

import type { LockRequest } from '@holdfast/protocol';
import { callsOf, okCallsOf } from '../calls.ts';
import { derived } from '../derived.ts';
import type { History, HistoryEvent } from '../history.ts';
import type { Operation } from './operation.ts';
import { Operations } from './operations.ts';

/** What a session did: it was alive at some moment after the call. */
const SIGNS_OF_LIFE = [
  'acquire',
  'release',
  'downgrade',
  'create',
  'create-sequential',
  'set',
  'delete',
  'transaction',
] as const;

type LockKind = LockRequest['type'] | 'reentrant';

const kindsOf = derived((history): ReadonlyMap<string, LockKind> => {
  const kinds = new Map<string, LockKind>();
  for (const { invoke } of callsOf(history, 'acquire', 'enter')) {
    if (kinds.has(invoke.lock)) continue;
    kinds.set(invoke.lock, invoke.f === 'enter' ? 'reentrant' : (invoke.asked?.type ?? 'mutex'));
  }
  return kinds;
});

/** Nobody has asked for one of which only its holder was asked. */
function isOf(history: History, kind: LockKind, lock: string): boolean {
  return (kindsOf(history).get(lock) ?? 'mutex') === kind;
}

/** `acquire`, `release`, `status` and `expire` of mutexes, whose clients are sessions. */
export function lockOperations(history: History): Operation[] {
  const operations = new Operations(history);
  for (const { invoke, completion } of callsOf(history, 'acquire', 'release')) {
    const { lock, session } = invoke;
    if (!isOf(history, 'mutex', lock)) continue;
    const owner = { key: lock, client: String(session) };
    if (invoke.f === 'acquire') {
      const token = completion?.type === 'ok' && completion.f === 'acquire' ? { token: completion.token } : null;
      operations.add({ invoke, completion }, { ...owner, output: token });
    } else {
      operations.add({ invoke, completion }, { ...owner, input: { token: invoke.token } });
    }
  }
  addStatuses(history, operations);
  for (const { session, lock, after } of endsOfHolds(history)) {
    if (isOf(history, 'mutex', lock)) operations.addOpen(after, { key: lock, f: 'expire', client: String(session) });
  }
  for (const { session, after } of endsOfSessions(history)) {
    operations.addOpen(after, { f: 'expire', client: String(session) });
  }
  return operations.list;
}

/** `acquire-read`, `acquire-write`, `downgrade`, their releases, and `expire` of read-write locks, whose clients are sessions. */
export function readWriteOperations(history: History): Operation[] {
  const operations = new Operations(history);
  const releases = releasesByHold(history);
  for (const { invoke, completion } of callsOf(history, 'acquire', 'downgrade', 'release')) {
    const { lock, session } = invoke;
    if (!isOf(history, 'readWrite', lock)) continue;
    const owner = { key: lock, client: String(session) };
    if (invoke.f === 'acquire') {
      operations.add({ invoke, completion }, { ...owner, f: writes(invoke.asked) ? 'acquire-write' : 'acquire-read' });
    } else if (invoke.f === 'downgrade') {
      operations.add({ invoke, completion }, owner);
    } else {
      operations.add({ invoke, completion }, { ...owner, f: releases.get(holdName(invoke)) ?? 'release' });
    }
  }
  for (const { session, lock, hold, after } of endsOfHolds(history)) {
    if (!isOf(history, 'readWrite', lock)) continue;
    // Others of the session's holds of that lock may go on.
    const f = releases.get(holdName({ lock, hold })) ?? 'release';
    operations.addOpen(after, { key: lock, f, client: String(session) });
  }
  addEndsOfSessions(history, operations);
  return operations.list;
}

/** `acquire` and `release` of so many permits, and `expire`, whose clients are sessions. */
export function semaphoreOperations(history: History): Operation[] {
  const operations = new Operations(history);
  const permits = new Map<string, number>();
  for (const { ok } of okCallsOf(history, 'acquire')) permits.set(holdName(ok), permitsIn(ok.asked));
  for (const { invoke, completion } of callsOf(history, 'acquire', 'release')) {
    const { lock, session } = invoke;
    if (!isOf(history, 'semaphore', lock)) continue;
    const count = invoke.f === 'acquire' ? permitsIn(invoke.asked) : (permits.get(holdName(invoke)) ?? 1);
    operations.add({ invoke, completion }, { key: lock, client: String(session), input: { permits: count } });
  }
  for (const { session, lock, hold, after } of endsOfHolds(history)) {
    if (!isOf(history, 'semaphore', lock)) continue;
    const input = { permits: permits.get(holdName({ lock, hold })) ?? 1 };
    operations.addOpen(after, { key: lock, f: 'release', client: String(session), input });
  }
  addEndsOfSessions(history, operations);
  return operations.list;
}

/** `acquire`, `release` and `expire` of reentrant locks, whose clients are the lock objects that count. */
export function entryOperations(history: History): Operation[] {
  const operations = new Operations(history);
  const owners = new Map<string, { readonly owner: string; readonly lock: string; readonly session: number }>();
  const ownerOf = new Map<string, string>();
  for (const { invoke, completion } of callsOf(history, 'enter', 'leave')) {
    const { lock, owner, session } = invoke;
    owners.set(`${owner} ${lock}`, { owner, lock, session });
    const of = { key: lock, client: owner };
    if (invoke.f === 'leave') {
      operations.add({ invoke, completion }, { ...of, f: 'release' });
      continue;
    }
    const told = completion?.type === 'ok' && completion.f === 'enter' ? completion : undefined;
    if (told !== undefined) ownerOf.set(holdName(told), owner);
    const output = told === undefined ? null : { token: told.token };
    operations.add({ invoke, completion }, { ...of, f: 'acquire', output });
  }
  for (const { lock, hold, after } of endsOfHolds(history)) {
    const owner = ownerOf.get(holdName({ lock, hold }));
    if (owner !== undefined) operations.addOpen(after, { key: lock, f: 'expire', client: owner });
  }
  const ends = new Map(endsOfSessions(history).map(({ session, after }) => [session, after]));
  for (const { owner, lock, session } of owners.values()) {
    const after = ends.get(session);
    if (after !== undefined) operations.addOpen(after, { key: lock, f: 'expire', client: owner });
  }
  return operations.list;
}

/** Of locks that take a number: the permits of a semaphore, or how often a reentrant lock may be entered. */
export const limitsOf = derived((history): ReadonlyMap<string, number> => {
  const limits = new Map<string, number>();
  for (const { invoke } of callsOf(history, 'acquire', 'enter')) {
    const limit = invoke.f === 'enter' ? invoke.limit : limitIn(invoke.asked);
    if (limit !== undefined && !limits.has(invoke.lock)) limits.set(invoke.lock, limit);
  }
  return limits;
});

/** What the release of each hold of a read-write lock gives back; where nobody knows, it is not among them. */
function releasesByHold(history: History): Map<string, 'release-read' | 'release-write' | 'release'> {
  const releases = new Map<string, 'release-read' | 'release-write' | 'release'>();
  for (const { ok } of okCallsOf(history, 'acquire')) {
    releases.set(holdName(ok), writes(ok.asked) ? 'release-write' : 'release-read');
  }
  for (const { invoke, completion } of callsOf(history, 'downgrade')) {
    releases.set(holdName(invoke), completion?.type === 'ok' ? 'release-read' : 'release');
  }
  return releases;
}

/**
 * A hold that was seen, and of whose grant nobody was told, is that of an acquire that has failed or has not been answered: it was granted
 * at the last moment, and given back. Such an acquire may have had its effect all the same, and its hold ends at any time.
 */
function addStatuses(history: History, operations: Operations): void {
  const acquires = callsOf(history, 'acquire');
  const told = new Set<string>();
  for (const { completion } of acquires) {
    if (completion?.type === 'ok' && completion.f === 'acquire') told.add(`${completion.token} ${completion.lock}`);
  }
  const untold = new Set<string>();
  for (const { invoke, completion } of callsOf(history, 'status')) {
    if (completion?.type !== 'ok' || completion.f !== 'status' || !isOf(history, 'mutex', invoke.lock)) continue;
    const { lock, holder, token } = completion;
    const output = holder === null ? null : { client: String(holder), token };
    operations.add({ invoke, completion }, { key: lock, client: String(invoke.session ?? invoke.process), output });
    if (holder === null || told.has(`${token} ${lock}`)) continue;
    told.add(`${token} ${lock}`);
    const mayBe = acquires.filter((call) => call.invoke.lock === lock && call.invoke.session === holder);
    const [first] = mayBe;
    if (first === undefined) continue;
    operations.addOpen(first.invoke, { key: lock, f: 'release', client: String(holder), input: { token } });
    if (untold.has(`${holder} ${lock}`)) continue;
    untold.add(`${holder} ${lock}`);
    for (const call of mayBe) {
      if (call.completion?.type !== 'fail') continue;
      operations.add({ invoke: call.invoke, completion: undefined }, { key: lock, client: String(holder) });
    }
  }
}

interface EndOfHold {
  readonly session: number;
  readonly lock: string;
  readonly hold: number;
  /** Not before this. */
  readonly after: HistoryEvent;
}

/** A hold that an operator has taken, or whose client was notified that it is gone or could not release it; the session may live on. */
function endsOfHolds(history: History): EndOfHold[] {
  const acquired = new Map<string, HistoryEvent>();
  for (const { invoke, completion } of callsOf(history, 'acquire', 'enter')) {
    if (completion?.type !== 'ok') continue;
    const name = holdName(completion);
    if (!acquired.has(name)) acquired.set(name, invoke);
  }
  const ends = new Map<string, EndOfHold>();
  const add = ({ lock, session, hold }: Omit<EndOfHold, 'after'>): void => {
    const name = holdName({ lock, hold });
    const after = acquired.get(name);
    if (after !== undefined && !ends.has(name)) ends.set(name, { session, lock, hold, after });
  };
  for (const event of history) {
    const isGone = event.type === 'lost' || (event.type === 'removed' && event.reason === 'revoked');
    if (isGone) add(event);
  }
  for (const { invoke, completion } of callsOf(history, 'release', 'leave')) {
    if (completion?.type === 'fail') add(invoke);
  }
  return [...ends.values()];
}

function addEndsOfSessions(history: History, operations: Operations): void {
  for (const { session, after } of endsOfSessions(history)) {
    operations.addOpen(after, { f: 'expire', client: String(session) });
  }
}

function endsOfSessions(history: History): { readonly session: number; readonly after: HistoryEvent }[] {
  const lastSigns = new Map<number, HistoryEvent>();
  const seen = (session: number, event: HistoryEvent): void => {
    if ((lastSigns.get(session)?.seq ?? 0) < event.seq) lastSigns.set(session, event);
  };
  for (const event of history) if (event.type === 'session' && event.event === 'connected') seen(event.session, event);
  for (const { invoke, completion } of callsOf(history, ...SIGNS_OF_LIFE)) {
    if (completion?.type === 'ok' && invoke.session !== undefined) seen(invoke.session, invoke);
  }
  return [...lastSigns].map(([session, after]) => ({ session, after }));
}

function holdName({ lock, hold }: { readonly lock: string; readonly hold: number }): string {
  return `${hold} ${lock}`;
}

function writes(asked: LockRequest | undefined): boolean {
  return asked?.type === 'readWrite' && asked.write;
}

function permitsIn(asked: LockRequest | undefined): number {
  return asked?.type === 'semaphore' ? asked.permits : 1;
}

function limitIn(asked: LockRequest | undefined): number | undefined {
  return asked?.type === 'semaphore' ? asked.limit : undefined;
}
