/**
 * A recorded run as operations on independent objects, for the linearizability checker: locks by name, nodes and lists by path, keys of the
 * store by bucket and key. What only the servers saw is left out, but for what operators took away: this is the view from outside.
 *
 * A session ends at the servers when they say so, which no client sees: it may be later than the client takes it for over, or never, where
 * a client was killed. So the end of each session is an operation of unknown outcome, that frees what the session holds. It cannot come
 * before the last thing that the session was answered to have done.
 */

import { callsOf, type Call } from '../calls.ts';
import type { History, HistoryEvent } from '../history.ts';
import { appendedBy, elementsOf, isListPath } from '../list-nodes.ts';
import { isRegisterPath } from '../register-paths.ts';
import type { Operation, Value } from './operation.ts';

/** Before the first event, in a file of the history. */
const HEADER_LINES = 1;
const NEVER = Number.POSITIVE_INFINITY;

/** What a session did: it was alive at some moment after the call. */
const SIGNS_OF_LIFE = ['acquire', 'release', 'create', 'create-sequential', 'set', 'delete', 'transaction'] as const;

/** `acquire`, `release`, `status` and `expire` of locks, whose clients are sessions. */
export function lockOperations(history: History): Operation[] {
  const operations = new Operations(history);
  for (const { invoke, completion } of callsOf(history, 'acquire', 'release')) {
    const { lock, session } = invoke;
    const owner = { key: lock, client: String(session) };
    if (invoke.f === 'acquire') {
      const token = completion?.type === 'ok' && completion.f === 'acquire' ? { token: completion.token } : null;
      operations.add({ invoke, completion }, { ...owner, output: token });
    } else {
      operations.add({ invoke, completion }, { ...owner, input: { token: invoke.token } });
    }
  }
  addStatuses(history, operations);
  for (const end of endsOfHolds(history)) operations.addOpen(end);
  for (const end of endsOfSessions(history)) operations.addOpen(end);
  return operations.list;
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

  addOpen({ session, lock, token, after }: End): void {
    this.list.push({
      line: this.#lineOf(after),
      process: after.process,
      client: String(session),
      f: token === undefined ? 'expire' : 'release',
      key: lock,
      input: token === undefined ? null : { token },
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
function endsOfHolds(history: History): End[] {
  const acquired = new Map<number, HistoryEvent>();
  for (const { invoke, completion } of callsOf(history, 'acquire')) {
    if (completion?.type === 'ok' && completion.f === 'acquire') acquired.set(completion.hold, invoke);
  }
  const ends = new Map<number, End>();
  const add = (lock: string, session: number, hold: number): void => {
    const after = acquired.get(hold);
    if (after !== undefined && !ends.has(hold)) ends.set(hold, { session, lock, after });
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
