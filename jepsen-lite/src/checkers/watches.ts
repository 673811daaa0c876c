/**
 * What watches tell: of each change below the node once, in the order of the indexes, and before any answer that shows it. What one watch was
 * told, or a client was answered, has happened; so every other watch has told it, too, whose time it was in and that does not say that it
 * missed it. A watch's time is from where it has started to the index that it told last, which may have come in part.
 */

import type { EventOf } from '../history/calls.ts';
import type { History, HistoryEvent } from '../history/history.ts';
import { WATCHED_PARENT } from '../history/watched-nodes.ts';
import { Findings } from './findings.ts';
import type { Verdict } from './verdict.ts';

type Count = 'watches' | 'told' | 'missed' | 'compared' | 'shown';
type Told = EventOf<'watched'>;
type Shown = EventOf<'shown'>;

interface Watch {
  readonly started: Told;
  readonly told: Map<string, Told>;
  readonly byIndex: Map<number, Told>;
  readonly gaps: Told[];
  last: Told;
  /** Nobody listens any more. */
  over: HistoryEvent | undefined;
}

/** An event that comes with an answer is taken a moment after it where several come together. */
const TAKEN_WITHIN_MS = 50;

export function checkWatches(history: History): Verdict {
  const findings = new Findings<Count>('watches', ['watches', 'told', 'missed', 'compared', 'shown']);
  const watches = new Map<number, Watch>();
  const happened = new Map<string, Told>();
  for (const event of history) {
    // Another process of that name: the one before listens no more.
    if (event.type === 'session' && event.event === 'connected') endAll(watches, event);
    if (event.type !== 'watched') continue;
    const watch = watches.get(event.watch);
    if (event.event === 'started') {
      findings.count('watches');
      if (watch === undefined) watches.set(event.watch, begin(event));
      else findings.broken(`watch ${event.watch} has started twice`, watch.started, event);
    } else if (watch === undefined) {
      findings.broken(`watch ${event.watch} tells something before it has started`, event);
    } else if (event.event === 'left') {
      watch.over ??= event;
    } else {
      hear(watch, event, findings);
      if (event.event !== 'resync') happened.set(keyOf(event), happened.get(keyOf(event)) ?? event);
    }
  }
  const all = [...watches.values()];
  for (const event of happened.values()) for (const watch of all) checkTold(watch, event, findings);
  for (const event of history) {
    if (event.type !== 'shown' || !isWatched(event)) continue;
    for (const watch of all) checkShown(watch, event, findings);
  }
  return findings.verdict(findings.counted('told') > 0);
}

function begin(started: Told): Watch {
  return { started, told: new Map(), byIndex: new Map(), gaps: [], last: started, over: undefined };
}

function endAll(watches: ReadonlyMap<number, Watch>, event: HistoryEvent): void {
  for (const watch of watches.values()) if (watch.started.process === event.process) watch.over ??= event;
}

function keyOf({ event, path, index }: Told): string {
  return `${index} ${event} ${path}`;
}

function hear(watch: Watch, event: Told, findings: Findings<Count>): void {
  const { last, started } = watch;
  watch.last = event;
  if (event.event === 'resync') {
    findings.count('missed');
    watch.gaps.push(event);
    const from = event.from ?? 0;
    if (from > event.index || event.index < last.index) {
      findings.broken(`watch ${event.watch} has missed what it had told before`, last, event);
    }
    return;
  }
  findings.count('told');
  const twin = watch.told.get(keyOf(event));
  if (twin !== undefined) findings.broken(`watch ${event.watch} tells "${keyOf(event)}" twice`, twin, event);
  else if (event.index < last.index) {
    findings.broken(`watch ${event.watch} tells index ${event.index} behind ${last.index}`, last, event);
  } else if (event.index <= started.index) {
    findings.broken(`watch ${event.watch} begins behind ${started.index}, and tells ${event.index}`, started, event);
  }
  watch.told.set(keyOf(event), event);
  if (!watch.byIndex.has(event.index)) watch.byIndex.set(event.index, event);
}

/** Whether it had to tell of that index. */
function covers({ started, last, gaps }: Watch, index: number): boolean {
  if (index <= started.index || index >= last.index) return false;
  return !gaps.some((gap) => index > (gap.from ?? 0) && index <= gap.index);
}

function checkTold(watch: Watch, event: Told, findings: Findings<Count>): void {
  if (!covers(watch, event.index)) return;
  findings.count('compared');
  if (watch.told.has(keyOf(event))) return;
  findings.broken(`watch ${watch.started.watch} does not tell "${keyOf(event)}"`, event, watch.started, watch.last);
}

/** What somebody was answered has happened; and what its own client is answered, a watch has told before. */
function checkShown(watch: Watch, shown: Shown, findings: Findings<Count>): void {
  const { started, last, gaps, over } = watch;
  const told = watch.byIndex.get(shown.index);
  if (covers(watch, shown.index)) {
    findings.count('compared');
    if (told === undefined)
      findings.broken(`watch ${started.watch} tells nothing of index ${shown.index}`, shown, started);
  }
  const untilMs = shown.timeMs + TAKEN_WITHIN_MS;
  const listens = started.process === shown.process && started.seq < shown.seq && shown.index > started.index;
  if (!listens || (over !== undefined && over.timeMs <= untilMs)) return;
  findings.count('shown');
  if (told !== undefined && told.timeMs <= untilMs) return;
  if (gaps.some((gap) => shown.index <= gap.index && gap.timeMs <= untilMs)) return;
  findings.broken(
    `a ${shown.by} shows index ${shown.index} of "${shown.path}" before watch ${started.watch} tells it`,
    shown,
    told ?? last,
  );
}

function isWatched({ path }: Shown): boolean {
  return path === WATCHED_PARENT || path.startsWith(`${WATCHED_PARENT}/`);
}
