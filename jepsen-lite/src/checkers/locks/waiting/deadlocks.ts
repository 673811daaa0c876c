/**
 * Where every wait is to end in a deadlock there is none behind any entry: no session waits, over others, for what it holds itself. And a wait ends
 * so only where its session holds something that somebody waits for.
 */

import { callsOf, type EventOf } from '../../../history/calls.ts';
import type { History } from '../../../history/history.ts';
import { isCrossed } from '../../../plan/lock-names.ts';
import { Findings } from '../../findings.ts';
import { groupBy } from '../../group.ts';
import { nameOf } from '../holds.ts';
import { logInOrder, type RecordedLogEvent } from '../log-order.ts';
import type { Verdict } from '../../verdict.ts';

/** `waits`: for those locks; `ended`: waits that the servers took away so; `told`: acquires that were answered so. */
type Count = 'waits' | 'ended' | 'told';

/** A wait or a hold, and what has brought it there. */
interface Place {
  readonly lock: string;
  readonly session: number;
  readonly hold: number;
  readonly holds: boolean;
  readonly came: EventOf<'enqueued' | 'granted'>;
}

/** How a place was come by. */
interface Visit {
  readonly place: Place;
  readonly from: Visit | undefined;
}

class Queues {
  readonly findings = new Findings<Count>('deadlocks', ['waits', 'ended', 'told']);
  /** By hold and lock, in order of the acquires. */
  readonly #places = new Map<string, Place>();

  /** All that one entry did. */
  see(events: readonly RecordedLogEvent[]): void {
    const granted = new Set(events.flatMap((event) => (event.type === 'granted' ? [nameOf(event)] : [])));
    for (const event of events) {
      if (event.type !== 'enqueued') continue;
      this.#places.set(nameOf(event), placeOf(event));
      if (isCrossed(event.lock) && !granted.has(nameOf(event))) this.findings.count('waits');
    }
    for (const event of events) {
      if (event.type === 'removed' && event.reason === 'deadlock') this.#ended(event, granted);
    }
    for (const event of events) {
      if (event.type === 'removed') this.#places.delete(nameOf(event));
      else if (event.type === 'granted') this.#places.set(nameOf(event), placeOf(event));
    }
    for (const event of events) {
      const place = event.type === 'enqueued' || event.type === 'granted' ? this.#places.get(nameOf(event)) : undefined;
      if (place !== undefined && isCrossed(place.lock) && this.#closes(place)) return;
    }
  }

  /** `granted`: by this entry. */
  #ended(event: EventOf<'removed'>, granted: ReadonlySet<string>): void {
    this.findings.count('ended');
    const { lock, session, hold, index } = event;
    const places = [...this.#places.values()];
    const waited = places.find((place) => place.lock === lock && place.hold === hold);
    const isHeld = (place: Place): boolean => place.holds || granted.has(nameOf(place));
    const own = places.filter((place) => place.session === session && place !== waited && isHeld(place));
    const isWaitedFor = own.some((held) => places.some((other) => other.lock === held.lock && !other.holds));
    if (waited !== undefined && !waited.holds && isWaitedFor) return;
    this.findings.broken(
      `session ${session} lost lock ${lock} (hold ${hold}) in a deadlock by entry ${index}, though nobody waited for anything that it held`,
      waited?.came,
      event,
    );
  }

  /** Whether what the entry has brought is in a deadlock. */
  #closes(place: Place): boolean {
    const ring = this.#ringFrom(place);
    if (ring === undefined) return false;
    const { index } = place.came;
    const told = ring.map((each) => `session ${each.session} ${each.holds ? 'holds' : 'waits for'} ${each.lock}`);
    const events = ring.map(({ came }) => came);
    this.findings.broken(`behind entry ${index} there is a deadlock: ${told.join(', ')}`, ...events);
    return true;
  }

  /** The shortest one, which ends where it begins. */
  #ringFrom(start: Place): readonly Place[] | undefined {
    const seen = new Set<Place>();
    const visits: Visit[] = [{ place: start, from: undefined }];
    for (const visit of visits) {
      for (const place of this.#waitsFor(visit.place)) {
        if (seen.has(place)) continue;
        seen.add(place);
        const next = { place, from: visit };
        if (place === start) return ringOf(next);
        visits.push(next);
      }
    }
    return undefined;
  }

  #waitsFor(place: Place): readonly Place[] {
    const places = [...this.#places.values()].filter(({ lock }) => isCrossed(lock));
    // What the session waits for where it holds something: not that once more, which another task of it does.
    if (place.holds)
      return places.filter((other) => other.session === place.session && !other.holds && other.lock !== place.lock);
    const queue = places.filter(({ lock }) => lock === place.lock);
    const before = queue.filter((other) => !other.holds && other.hold < place.hold).slice(-1);
    return [...queue.filter((other) => other.holds), ...before];
  }
}

function placeOf(event: EventOf<'enqueued' | 'granted'>): Place {
  const { type, lock, session, hold } = event;
  return { lock, session, hold, holds: type === 'granted', came: event };
}

/** Without the beginning, which is the end. */
function ringOf(end: Visit): readonly Place[] {
  const ring: Place[] = [];
  for (let visit = end; visit.from !== undefined; visit = visit.from) ring.push(visit.place);
  return ring.toReversed();
}

export function checkDeadlocks(history: History): Verdict {
  const queues = new Queues();
  for (const events of groupBy(logInOrder(history), ({ index }) => index).values()) queues.see(events);
  const { findings } = queues;
  for (const { completion } of callsOf(history, 'acquire')) {
    if (completion?.type === 'fail' && completion.code === 'DEADLOCK') findings.count('told');
  }
  return findings.verdict(findings.counted('waits') > 0);
}
