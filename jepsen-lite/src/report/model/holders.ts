/**
 * Who held each lock, as the servers say (from the entry that granted until the one that took away), and for how long its client took
 * itself for the holder: that may be longer, which is what fencing tokens are for. Without the servers' events it is what clients saw.
 */

import { MAX_HOLDS, MAX_LOCKS, MAX_ROWS_OF_BANDS } from '../limits.ts';
import { pack } from '../timeline/pack.ts';
import type { HolderBand, LockTrack } from '../timeline/page-data.ts';
import { clientsOf } from '../words/witness.ts';
import { visible } from '../words/text.ts';
import type { EventOf } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { orderOf, rounded } from './calls.ts';

export interface HolderModel {
  readonly locks: readonly LockTrack[];
  readonly names: readonly string[];
  /** Where each hold is, by `LOCK HOLD`. */
  readonly places: ReadonlyMap<string, { readonly lock: number; readonly row: number; readonly endMs: number }>;
  readonly leftOut: { readonly locks: number; readonly holds: number };
}

type Told = NonNullable<HolderBand['told']>;
type Hold = { -readonly [K in keyof HolderBand]: HolderBand[K] };

export function holdName({ lock, hold }: { readonly lock: string; readonly hold: number }): string {
  return `${hold} ${lock}`;
}

export function holderModel(history: History, first: readonly string[]): HolderModel {
  const endMs = rounded(history.at(-1)?.timeMs ?? 0);
  const told = toldHolds(history, endMs);
  const byLock = new Map<string, Hold[]>();
  const known = new Map<string, Hold>();
  const clientOf = clientsOf(history);
  let count = 0;
  const begin = (event: { readonly lock: string; readonly hold: number }, hold: Hold): void => {
    count += 1;
    if (count > MAX_HOLDS) return;
    known.set(holdName(event), hold);
    const holds = byLock.get(event.lock) ?? [];
    if (holds.length === 0) byLock.set(event.lock, holds);
    holds.push(hold);
  };
  for (const event of history) {
    if (event.type === 'granted') {
      const { seq, token, hold, session, timeMs } = event;
      const client = visible(clientOf(session) ?? `session ${session}`);
      const ofClient = told.get(holdName(event));
      const startMs = rounded(timeMs);
      begin(event, { seq, token, hold, client, startMs, endMs, end: 'open', ...(ofClient && { told: ofClient.told }) });
    } else if (event.type === 'removed') {
      const hold = known.get(holdName(event));
      if (hold !== undefined) Object.assign(hold, { endMs: rounded(event.timeMs), end: event.reason });
    }
  }
  for (const [name, { event, told: ofClient, end }] of told) {
    if (known.has(name)) continue;
    const { seq, token, hold, process } = event;
    begin(event, { seq, token, hold, client: visible(process), ...ofClient, end, told: ofClient });
  }
  return placed(byLock, first, Math.max(count - MAX_HOLDS, 0));
}

function placed(
  byLock: ReadonlyMap<string, readonly Hold[]>,
  first: readonly string[],
  holdsLeftOut: number,
): HolderModel {
  const names = orderOf([...byLock.keys()], first);
  const places: Map<string, { lock: number; row: number; endMs: number }> = new Map();
  let leftOut = holdsLeftOut;
  const locks = names.slice(0, MAX_LOCKS).map((name, lock): LockTrack => {
    const holds = (byLock.get(name) ?? []).toSorted((left, right) => left.startMs - right.startMs);
    const packed = pack(holds, MAX_ROWS_OF_BANDS);
    leftOut += packed.leftOut;
    for (const [row, ofRow] of packed.rows.entries()) {
      for (const { hold, endMs } of ofRow) places.set(holdName({ lock: name, hold }), { lock, row, endMs });
    }
    return { name: visible(name), rows: packed.rows };
  });
  return { locks, names, places, leftOut: { locks: Math.max(names.length - MAX_LOCKS, 0), holds: leftOut } };
}

interface ToldHold {
  readonly event: EventOf<'ok'> & { readonly f: 'acquire' };
  readonly told: Told;
  readonly end: string;
}

/** From when the client was told, until it gave back, was told of the loss, heard that its session is over, or was not heard again. */
function toldHolds(history: History, endMs: number): ReadonlyMap<string, ToldHold> {
  const holds = new Map<string, ToldHold>();
  /** Of each client, by session: those that have not ended. */
  const open = new Map<string, Map<number, Set<string>>>();
  const last = new Map<string, number>();
  const end = (event: HistoryEvent, name: string, session: number, timeMs: number, how: string): void => {
    const hold = holds.get(name);
    if (hold === undefined || open.get(event.process)?.get(session)?.delete(name) !== true) return;
    holds.set(name, { ...hold, told: { ...hold.told, endMs: rounded(timeMs) }, end: how });
  };
  const endAll = (event: HistoryEvent, timeMs: number, how: string, session?: number): void => {
    for (const [of, names] of open.get(event.process) ?? []) {
      if (session === undefined || of === session) for (const name of names) end(event, name, of, timeMs, how);
    }
  };
  for (const event of history) {
    if (event.type === 'session') {
      // One that was killed believes in nothing any more: what it had ends with what was heard of it last.
      if (event.event === 'connected') endAll(event, last.get(event.process) ?? event.timeMs, 'open');
      else endAll(event, event.timeMs, event.event, event.session);
    }
    last.set(event.process, event.timeMs);
    if (event.type === 'invoke' && event.f === 'release') {
      end(event, holdName(event), event.session, event.timeMs, 'released');
    } else if (event.type === 'lost') end(event, holdName(event), event.session, event.timeMs, event.reason);
    else if (event.type === 'ok' && event.f === 'acquire') {
      const name = holdName(event);
      const sessions = open.get(event.process) ?? new Map<number, Set<string>>();
      holds.set(name, { event, told: { startMs: rounded(event.timeMs), endMs }, end: 'open' });
      open.set(event.process, sessions.set(event.session, (sessions.get(event.session) ?? new Set()).add(name)));
    }
  }
  for (const event of [...holds.values()].map((hold) => hold.event)) {
    end(event, holdName(event), event.session, last.get(event.process) ?? event.timeMs, 'open');
  }
  return holds;
}
