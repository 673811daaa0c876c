/**
 * Which answer shows which index: what a client was told of a grant, a release, a write or a session's end names an entry, and everything
 * up to that entry had been committed before. What was acknowledged and is in no entry is lost.
 */

import { callsOf, type Call } from '../../../history/calls.ts';
import type { History, EntryEvent } from '../../../history/history.ts';
import { placesOfDeletes, type DeleteAnswer } from './deletes.ts';
import type { AppliedWrite } from '../../applied-write.ts';
import type { Replayed } from './replay.ts';

/** Operations that become entries. That a lock was left may be the SDK's alone, and so may that it was entered: but then it was granted before. */
const LOGGED = [
  'acquire',
  'release',
  'downgrade',
  'enter',
  'create',
  'create-sequential',
  'set',
  'delete',
  'transaction',
] as const;
type LoggedName = (typeof LOGGED)[number];

export interface Witnesses {
  /** By the number of an event: the index that it shows. */
  readonly shown: ReadonlyMap<number, number>;
  /** By the number of an invocation: the entry that the call became. */
  readonly became: ReadonlyMap<number, number>;
  /** Calls that were acknowledged. */
  readonly acknowledged: number;
  /** Of those, in words, the ones that are in no entry. */
  readonly lost: readonly string[];
}

export function witnessesOf(history: History, { events, writes }: Replayed): Witnesses {
  const shown = new Map<number, number>();
  const became = new Map<number, number>();
  const lost: string[] = [];
  let acknowledged = 0;
  const calls = callsOf(history, ...LOGGED);
  const log = new LogTable(calls, events, writes);
  for (const call of calls) {
    const { invoke, completion } = call;
    if (completion?.type !== 'ok') continue;
    acknowledged += 1;
    const found = log.find(call);
    if (found === undefined) {
      lost.push(
        `${invoke.process} was told that ${JSON.stringify({ ...invoke, type: 'ok' })} was done, and no entry does it`,
      );
      continue;
    }
    if (found === 'somewhere') continue;
    shown.set(completion.seq, found.shows);
    if (found.entry !== undefined) became.set(invoke.seq, found.entry);
  }
  for (const event of history) {
    // Who closes a session that no server answers has closed it for itself: the ensemble ends it later.
    if (event.type !== 'session' || event.event !== 'expired') continue;
    const end = log.endOf(event.session);
    if (end !== undefined) shown.set(event.seq, end);
    else lost.push(`session ${event.session} was said to have expired, and no entry ends it`);
  }
  return { shown, became, acknowledged, lost };
}

/** Which entries made and ended a hold. */
interface HoldEntries {
  grant?: number;
  downgrade?: number;
  release?: number;
}

interface Found {
  /** The call itself; undefined where it may be the entry of an earlier one. */
  readonly entry: number | undefined;
  /** What its answer tells of. */
  readonly shows: number;
}

class LogTable {
  readonly #holds = new Map<string, HoldEntries>();
  readonly #ends = new Map<number, number>();
  readonly #byValue = new Map<string, number>();
  /** Of transactions that were done: whose each entry is. */
  readonly #transactions = new Map<number, number>();
  /** Of one session and path, in the order of their requests, which is that of the calls. */
  readonly #deletes: ReadonlyMap<number, number | 'somewhere'>;

  constructor(calls: readonly Call<LoggedName>[], events: readonly EntryEvent[], writes: readonly AppliedWrite[]) {
    for (const event of events) {
      if (event.type === 'granted') this.#hold(event).grant = event.index;
      else if (event.type === 'removed' && event.reason === 'released') this.#hold(event).release = event.index;
      else if (event.type === 'downgraded') this.#hold(event).downgrade = event.index;
      else if (event.type === 'ended-session') this.#ends.set(event.session, event.index);
    }
    for (const { f, path, value, refused, index, session } of writes) {
      if (refused === undefined && f === 'transaction') this.#transactions.set(index, session);
      if (refused === undefined && value !== undefined) this.#byValue.set(`${f} ${path} ${value}`, index);
    }
    this.#deletes = entriesOfDeletes(calls, writes);
  }

  endOf(session: number): number | undefined {
    return this.#ends.get(session);
  }

  /** `somewhere`: it is there, and nobody can say which entry it is. */
  find({ invoke, completion }: Call<LoggedName>): Found | 'somewhere' | undefined {
    switch (invoke.f) {
      case 'acquire': {
        if (completion?.type !== 'ok' || completion.f !== 'acquire') return undefined;
        const grant = this.#holds.get(`${invoke.lock} ${completion.hold} ${invoke.session}`)?.grant;
        return grant === completion.token ? { entry: completion.hold, shows: grant } : undefined;
      }
      case 'enter': {
        if (completion?.type !== 'ok' || completion.f !== 'enter') return undefined;
        const grant = this.#holds.get(`${invoke.lock} ${completion.hold} ${invoke.session}`)?.grant;
        return grant === completion.token ? { entry: undefined, shows: grant } : undefined;
      }
      case 'downgrade':
        return at(this.#holds.get(`${invoke.lock} ${invoke.hold} ${invoke.session}`)?.downgrade);
      case 'release':
        return at(this.#holds.get(`${invoke.lock} ${invoke.hold} ${invoke.session}`)?.release);
      case 'create':
      case 'set':
        return at(this.#byValue.get(`${invoke.f} ${invoke.path} ${invoke.value}`));
      case 'create-sequential':
        return at(this.#byValue.get(`create ${invoke.path} ${invoke.value}`));
      case 'transaction': {
        if (completion?.type !== 'ok' || completion.f !== 'transaction') return undefined;
        const { index } = completion;
        return this.#transactions.get(index) === invoke.session ? at(index) : undefined;
      }
      case 'delete': {
        const found = this.#deletes.get(invoke.call);
        return found === 'somewhere' ? found : at(found);
      }
    }
  }

  #hold({
    lock,
    hold,
    session,
  }: {
    readonly lock: string;
    readonly hold: number;
    readonly session: number;
  }): HoldEntries {
    const key = `${lock} ${hold} ${session}`;
    const found = this.#holds.get(key) ?? {};
    this.#holds.set(key, found);
    return found;
  }
}

/** By the number of the call. */
function entriesOfDeletes(
  calls: readonly Call<LoggedName>[],
  writes: readonly AppliedWrite[],
): Map<number, number | 'somewhere'> {
  const entries = new Map<string, { readonly index: number; readonly done: boolean }[]>();
  for (const { f, session, path, refused, index } of writes) {
    // Refused for another reason it has not looked.
    if (f !== 'delete' || (refused !== undefined && refused !== 'NOT_FOUND')) continue;
    listOf(entries, `${session} ${path}`).push({ index, done: refused === undefined });
  }
  const called = new Map<string, { readonly call: number; readonly answer: DeleteAnswer }[]>();
  for (const { invoke, completion } of calls) {
    if (invoke.f !== 'delete') continue;
    listOf(called, `${invoke.session} ${invoke.path}`).push({ call: invoke.call, answer: answerOf(completion) });
  }
  const found = new Map<number, number | 'somewhere'>();
  for (const [key, of] of called) {
    const there = entries.get(key) ?? [];
    const places = placesOfDeletes(
      of.map(({ answer }) => answer),
      there.map(({ done }) => done),
    );
    for (const [n, { call }] of of.entries()) {
      const place = places[n] ?? 'nowhere';
      if (place === 'nowhere') continue;
      found.set(call, place === 'somewhere' ? place : (there[place]?.index ?? 0));
    }
  }
  return found;
}

function listOf<T>(lists: Map<string, T[]>, key: string): T[] {
  const found = lists.get(key) ?? [];
  lists.set(key, found);
  return found;
}

function answerOf(completion: Call<LoggedName>['completion']): DeleteAnswer {
  if (completion?.type === 'ok') return 'done';
  return completion?.type === 'fail' && completion.code === 'NOT_FOUND' ? 'not-found' : 'unknown';
}

function at(index: number | undefined): Found | undefined {
  return index === undefined ? undefined : { entry: index, shows: index };
}
