/** The holds that applications were notified of, each with what they said of it and how it ended, as far as the history shows. */

import { callsOf, okCallsOf, type EventOf, type InvokeOf, type OkOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';

export interface ReportedHold {
  readonly ok: OkOf<'acquire'>;
  /** The last time that `assertHeld()` passed. */
  believed: EventOf<'believe'> | undefined;
  /** The first of each. */
  lost: EventOf<'lost'> | undefined;
  releasing: InvokeOf<'release'> | undefined;
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
  for (const { ok } of okCallsOf(history, 'acquire').sort((left, right) => left.ok.seq - right.ok.seq)) {
    const key = nameOf(ok);
    if (holds.has(key)) continue;
    holds.set(key, { ok, believed: undefined, lost: undefined, releasing: undefined, removed: undefined });
  }
  for (const event of history) {
    if (event.type !== 'believe' && event.type !== 'lost' && event.type !== 'removed') continue;
    const hold = holds.get(nameOf(event));
    if (hold === undefined) continue;
    if (event.type === 'believe') hold.believed = event;
    else if (event.type === 'lost') hold.lost ??= event;
    else hold.removed ??= event;
  }
  for (const { invoke } of callsOf(history, 'release')) {
    const hold = holds.get(nameOf(invoke));
    if (hold !== undefined) hold.releasing ??= invoke;
  }
  return [...holds.values()];
}

export function nameOf({ lock, hold }: Named): string {
  return `${hold} ${lock}`;
}

/** An operator took it: its holder hears of that when the message arrives, and may believe until then. */
export function wasRevoked(hold: ReportedHold): boolean {
  return hold.removed?.reason === 'revoked' || hold.lost?.reason === 'revoked';
}
