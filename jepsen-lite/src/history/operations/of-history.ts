/**
 * A recorded run as operations on independent objects, for the linearizability checker: locks by name, nodes and lists by path, keys of the
 * store by bucket and key. What only the servers saw is left out, but for what operators took away: this is the view from outside.
 *
 * A session ends at the servers when they say so, which no client sees: it may be later than the client takes it for over, or never, where
 * a client was killed. So the end of each session is an operation of unknown outcome, that frees what the session holds. It cannot come
 * before the last thing that the session was answered to have done.
 */

import { MUTEX, type LockRequest } from '@holdfast/protocol';
import { callsOf, type Call } from '../calls.ts';
import type { History, HistoryEvent } from '../history.ts';
import { appendedBy, elementsOf, isListPath } from '../list-nodes.ts';
import { isRegisterPath } from '../register-paths.ts';
import type { Operation, Value } from './operation.ts';

/** Before the first event, in a file of the history. */
const HEADER_LINES = 1;
const NEVER = Number.POSITIVE_INFINITY;

/** What a session did: it was alive at some moment after the call. */
const SIGNS_OF_LIFE = [
  'acquire',
  'release',
  'convert',
  'reenter',
  'leave',
  'create',
  'create-sequential',
  'set',
  'delete',
  'transaction',
] as const;

/**
 * What was asked of the locks of that kind, and `expire`, by sessions. Of a mutex `acquire`, `release` and `status`; of a semaphore the first
 * two, with permits; of a reentrant lock as well, where the clients are its owners; of a read-write lock by the names of its model.
 */
export function lockOperations(history: History, kind: LockRequest['type'] = 'mutex'): Operation[] {
  const operations = new Operations(history);
  const kinds = kindsOfLocks(history);
  const isOfKind = (lock: string): boolean => (kinds.get(lock) ?? 'mutex') === kind;
  const requests = new RequestsOfHolds(history);
  const owners = new Map<number, Set<string>>();
  for (const { invoke, completion } of callsOf(history, 'acquire', 'release', 'convert', 'reenter', 'leave')) {
    if (!isOfKind(invoke.lock)) continue;
    const token = completion?.type === 'ok' && 'token' in completion ? { token: completion.token } : null;
    const request = invoke.f === 'acquire' ? (invoke.asked ?? MUTEX) : requests.at(invoke);
    const owner = request.type === 'reentrant' ? request.owner : undefined;
    const client = owner === undefined ? String(invoke.session) : `${invoke.session}/${owner}`;
    owners.set(invoke.session, (owners.get(invoke.session) ?? new Set()).add(client));
    operations.add({ invoke, completion }, { ...meaningOf(invoke, request, token), key: invoke.lock, client });
  }
  if (kind === 'mutex') addStatuses(history, operations);
  for (const end of endsOfHolds(history)) if (isOfKind(end.lock)) addEnd(operations, end, requests);
  for (const end of endsOfSessions(history)) {
    for (const client of owners.get(end.session) ?? [String(end.session)]) operations.addOpen({ ...end, client });
  }
  return operations.list;
}

/** The kinds of locks that a history has, in no order that means anything. */
export function lockKindsOf(history: History): ReadonlySet<LockRequest['type']> {
  return new Set(kindsOfLocks(history).values());
}

function kindsOfLocks(history: History): ReadonlyMap<string, LockRequest['type']> {
  return new Map(callsOf(history, 'acquire').map(({ invoke }) => [invoke.lock, (invoke.asked ?? MUTEX).type]));
}

/** What holds were acquired with, and what they ask for since they were converted. */
class RequestsOfHolds {
  readonly #acquired = new Map<number, LockRequest>();
  readonly #converted = new Map<number, LockRequest>();

  constructor(history: History) {
    for (const { completion } of callsOf(history, 'acquire')) {
      if (completion?.type === 'ok' && completion.f === 'acquire')
        this.#acquired.set(completion.hold, completion.asked ?? MUTEX);
    }
    for (const { invoke, completion } of callsOf(history, 'convert')) {
      if (completion?.type !== 'fail') this.#converted.set(invoke.hold, invoke.asked);
    }
  }

  /** A conversion by what it was before, whatever comes of a hold later by what it has become. */
  at({ f, hold = 0, owner }: { readonly f: string; readonly hold?: number; readonly owner?: number }): LockRequest {
    if (owner !== undefined) return { type: 'reentrant', owner, limit: 1 };
    const acquired = this.#acquired.get(hold) ?? MUTEX;
    return f === 'convert' ? acquired : (this.#converted.get(hold) ?? acquired);
  }

  /** One that may not have been converted after all can end as either. */
  both(hold: number): readonly LockRequest[] {
    const converted = this.#converted.get(hold);
    return [this.#acquired.get(hold) ?? MUTEX, ...(converted === undefined ? [] : [converted])];
  }
}

interface OfLock {
  readonly f: 'acquire' | 'release' | 'convert' | 'reenter' | 'leave';
  readonly token?: number;
  readonly asked?: LockRequest;
}

/** Permits that a hold still has after a part was given back. */
function keptBy({ f, asked }: OfLock): number {
  return f === 'convert' && asked?.type === 'semaphore' ? asked.count : 0;
}

/** What a model of that kind of lock calls it. */
function meaningOf(
  invoke: OfLock,
  request: LockRequest,
  answered: { readonly token: number } | null,
): Omit<Meaning, 'key'> {
  const acquires = invoke.f === 'acquire' || invoke.f === 'reenter';
  switch (request.type) {
    case 'readWrite':
      if (invoke.f === 'convert') return { f: 'downgrade' };
      return { f: `${acquires ? 'acquire' : 'release'}-${request.mode}` };
    case 'semaphore':
      return { f: acquires ? 'acquire' : 'release', input: { permits: request.count - keptBy(invoke) } };
    case 'mutex':
      return acquires ? { output: answered } : { input: { token: invoke.token ?? 0 } };
    case 'reentrant':
      return acquires ? { f: 'acquire', output: answered } : { f: 'release' };
  }
}

/** Whenever it was, and whatever it had been converted to by then. */
function addEnd(operations: Operations, end: EndOfHold, requests: RequestsOfHolds): void {
  const { session, lock, hold, after } = end;
  for (const request of requests.both(hold)) {
    if (request.type === 'mutex' || request.type === 'reentrant') {
      const client = request.type === 'mutex' ? String(session) : `${session}/${request.owner}`;
      operations.addOpen({ session, lock, after, client, f: 'expire' });
    } else {
      const { f = 'release', input = null } = meaningOf({ f: 'release' }, request, null);
      operations.addOpen({ session, lock, after, client: String(session), f, input });
    }
  }
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
    if (completion?.type !== 'ok' || completion.f !== 'status') continue;
    const { lock, holder, token } = completion;
    const output = holder === null ? null : { client: String(holder), token };
    operations.add({ invoke, completion }, { key: lock, client: String(invoke.session ?? invoke.process), output });
    if (holder === null || told.has(`${token} ${lock}`)) continue;
    told.add(`${token} ${lock}`);
    const mayBe = acquires.filter((call) => call.invoke.lock === lock && call.invoke.session === holder);
    const [first] = mayBe;
    if (first === undefined) continue;
    operations.addOpen({ session: holder, lock, token, after: first.invoke });
    if (untold.has(`${holder} ${lock}`)) continue;
    untold.add(`${holder} ${lock}`);
    for (const call of mayBe) {
      if (call.completion?.type !== 'fail') continue;
      operations.add({ invoke: call.invoke, completion: undefined }, { key: lock, client: String(holder) });
    }
  }
}

/** `write` and `read` of nodes and of keys of the store; null: there is none. Reads of a weaker consistency say nothing here. Nodes that change together, or go by themselves, are no registers. */
export function registerOperations(history: History): Operation[] {
  const operations = new Operations(history);
  for (const { invoke, completion } of callsOf(history, 'create', 'set', 'delete', 'put', 'read', 'get')) {
    const key = 'path' in invoke ? invoke.path : `${invoke.bucket}/${invoke.key}`;
    if ('path' in invoke && !isRegisterPath(invoke.path)) continue;
    if (invoke.f === 'read' || invoke.f === 'get') {
      if (invoke.f === 'read' && invoke.consistency !== 'linearizable') continue;
      const read = completion?.type === 'ok' && 'value' in completion ? completion.value : null;
      operations.add({ invoke, completion }, { key, f: 'read', output: read });
    } else {
      const written = 'value' in invoke ? invoke.value : null;
      operations.add({ invoke, completion }, { key, f: 'write', input: written });
    }
  }
  return operations.list;
}

/** `append` and `read` of the lists that are kept in nodes. */
export function listOperations(history: History): Operation[] {
  const operations = new Operations(history);
  for (const { invoke, completion } of callsOf(history, 'set', 'read')) {
    const { path: key } = invoke;
    if (!isListPath(key)) continue;
    if (invoke.f === 'set') {
      operations.add({ invoke, completion }, { key, f: 'append', input: appendedBy(invoke) });
    } else if (invoke.consistency === 'linearizable') {
      const found = completion?.type === 'ok' && completion.f === 'read' ? elementsOf(completion.value ?? '') : null;
      operations.add({ invoke, completion }, { key, output: found });
    }
  }
  return operations.list;
}

interface Meaning {
  readonly key: string;
  readonly f?: string;
  readonly client?: string;
  readonly input?: Value;
  readonly output?: Value;
}

interface End {
  readonly session: number;
  readonly lock?: string;
  /** The hold that ends; none: whichever the session has. */
  readonly token?: number;
  /** Not before this. */
  readonly after: HistoryEvent;
  /** @default the session */
  readonly client?: string;
  /** @default what the token says */
  readonly f?: string;
  readonly input?: Value;
}

interface EndOfHold {
  readonly session: number;
  readonly lock: string;
  readonly hold: number;
  readonly after: HistoryEvent;
}

class Operations {
  readonly list: Operation[] = [];
  readonly #lines: ReadonlyMap<number, number>;

  constructor(history: History) {
    this.#lines = new Map(history.map(({ seq }, place) => [seq, place + 1 + HEADER_LINES]));
  }

  /** Nothing, when the call had no effect and never will have. */
  add({ invoke, completion }: Pick<Call, 'invoke' | 'completion'>, meaning: Meaning): void {
    if (completion?.type === 'fail') return;
    this.list.push({
      line: this.#lineOf(invoke),
      process: invoke.process,
      client: meaning.client ?? invoke.process,
      f: meaning.f ?? invoke.f,
      key: meaning.key,
      input: meaning.input ?? null,
      output: meaning.output ?? null,
      invokedAt: invoke.seq,
      returnedAt: completion?.type === 'ok' ? completion.seq : NEVER,
    });
  }

  addOpen({ session, lock, token, after, client, f, input }: End): void {
    this.list.push({
      line: this.#lineOf(after),
      process: after.process,
      client: client ?? String(session),
      f: f ?? (token === undefined ? 'expire' : 'release'),
      key: lock,
      input: input ?? (token === undefined ? null : { token }),
      output: null,
      invokedAt: after.seq,
      returnedAt: NEVER,
    });
  }

  #lineOf({ seq }: HistoryEvent): number {
    return this.#lines.get(seq) ?? 0;
  }
}

/** A hold that an operator has taken, or whose client was notified that it is gone or could not release it; the session may live on. */
function endsOfHolds(history: History): EndOfHold[] {
  const acquired = new Map<number, HistoryEvent>();
  for (const { invoke, completion } of callsOf(history, 'acquire')) {
    if (completion?.type === 'ok' && completion.f === 'acquire') acquired.set(completion.hold, invoke);
  }
  const ends = new Map<number, EndOfHold>();
  const add = (lock: string, session: number, hold: number): void => {
    const after = acquired.get(hold);
    if (after !== undefined && !ends.has(hold)) ends.set(hold, { session, lock, hold, after });
  };
  for (const event of history) {
    const isGone = event.type === 'lost' || (event.type === 'removed' && event.reason === 'revoked');
    if (isGone) add(event.lock, event.session, event.hold);
  }
  for (const { invoke, completion } of callsOf(history, 'release')) {
    if (completion?.type === 'fail') add(invoke.lock, invoke.session, invoke.hold);
  }
  return [...ends.values()];
}

function endsOfSessions(history: History): End[] {
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
