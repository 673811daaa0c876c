/** The holds that applications were notified of, each with what they said of it and how it ended, as far as the history shows. */

import { callsOf, okCallsOf, type EventOf, type InvokeOf, type OkOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { groupBy } from '../group.ts';

export interface ReportedHold {
  /** The first, where its owner has entered it more than once. */
  readonly ok: OkOf<'acquire' | 'enter'>;
  /** The last time that `assertHeld()` passed. */
  believed: EventOf<'believe'> | undefined;
  /** The first of each. */
  lost: EventOf<'lost'> | undefined;
  /** With the last entry, where it has several. */
  releasing: InvokeOf<'release' | 'leave'> | undefined;
  downgrading: InvokeOf<'downgrade'> | undefined;
  /** By the log. */
  removed: EventOf<'removed'> | undefined;
}

/** What names a hold in all that concerns it. */
interface Named {
  readonly lock: string;
  readonly hold: number;
}

/** In the order in which they were reported. */
export function reportedHolds(history: History): ReportedHold[] {
  const holds = new Map<string, ReportedHold>();
  for (const { ok } of okCallsOf(history, 'acquire', 'enter').sort((left, right) => left.ok.seq - right.ok.seq)) {
    const key = nameOf(ok);
    if (holds.has(key)) continue;
    holds.set(key, {
      ok,
      believed: undefined,
      lost: undefined,
      releasing: undefined,
      downgrading: undefined,
      removed: undefined,
    });
  }
  for (const event of history) {
    if (event.type !== 'believe' && event.type !== 'lost' && event.type !== 'removed') continue;
    const hold = holds.get(nameOf(event));
    if (hold === undefined) continue;
    if (event.type === 'believe') hold.believed = event;
    else if (event.type === 'lost') hold.lost ??= event;
    else hold.removed ??= event;
  }
  for (const { invoke } of callsOf(history, 'release', 'downgrade')) {
    const hold = holds.get(nameOf(invoke));
    if (hold === undefined) continue;
    if (invoke.f === 'release') hold.releasing ??= invoke;
    else hold.downgrading ??= invoke;
  }
  for (const [name, leave] of lastLeaves(history)) {
    const hold = holds.get(name);
    if (hold !== undefined) hold.releasing = leave;
  }
  return [...holds.values()];
}

/** Of each hold that was left as often as it was entered. */
function lastLeaves(history: History): Map<string, InvokeOf<'leave'>> {
  const last = new Map<string, InvokeOf<'leave'>>();
  const entries = groupBy(okCallsOf(history, 'enter'), ({ ok }) => nameOf(ok));
  for (const [name, leaves] of groupBy(callsOf(history, 'leave'), ({ invoke }) => nameOf(invoke))) {
    const leave = leaves.at(-1)?.invoke;
    if (leave !== undefined && leaves.length >= (entries.get(name)?.length ?? 0)) last.set(name, leave);
  }
  return last;
}

export function nameOf({ lock, hold }: Named): string {
  return `${hold} ${lock}`;
}

/** An operator took it: its holder hears of that when the message arrives, and may believe until then. */
export function wasRevoked(hold: ReportedHold): boolean {
  return hold.removed?.reason === 'revoked' || hold.lost?.reason === 'revoked';
}
