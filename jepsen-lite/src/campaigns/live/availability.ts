/** How long clients went without service: the longest time between two answers that a client had, as a whole and while a fault lasted. */

import type { History, HistoryEvent } from '../../history/history.ts';

export interface Availability {
  /** Of each client, in milliseconds, over the whole load. */
  readonly longestGapMs: Readonly<Record<string, number>>;
  /** The longest one that touches a fault of the kind, of any client, by kind and client. */
  readonly byFault: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** `byFault` as a distribution over the clients. */
  readonly distributions: Readonly<Record<string, Distribution>>;
}

/** In milliseconds, but for the count. Percentiles are the smallest value that covers the share. */
interface Distribution {
  readonly count: number;
  readonly median: number;
  readonly p90: number;
  readonly max: number;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** From the beginning of the load until clients are told to stop. */
export function availability(history: History, clients: readonly string[]): Availability {
  const fromMs = phaseAt(history, 'faults') ?? 0;
  const toMs = phaseAt(history, 'quiet') ?? history.at(-1)?.timeMs ?? 0;
  const faults = faultSpans(history, toMs);
  const longestGapMs: Record<string, number> = {};
  const byFault: Record<string, Record<string, number>> = {};
  for (const client of clients) {
    const gaps = gapsOf(history, client, { fromMs, toMs });
    longestGapMs[client] = longest(gaps);
    for (const [kind, spans] of faults) {
      const touching = gaps.filter((gap) => spans.some((span) => gap.fromMs < span.toMs && span.fromMs < gap.toMs));
      (byFault[kind] ??= {})[client] = longest(touching);
    }
  }
  const distributions = Object.fromEntries(
    Object.entries(byFault).map(([kind, ofClients]) => [kind, distributionOf(Object.values(ofClients))]),
  );
  return { longestGapMs, byFault, distributions };
}

function phaseAt(history: History, phase: string): number | undefined {
  return history.find((event) => event.type === 'phase' && event.phase === phase)?.timeMs;
}

function gapsOf(history: History, client: string, { fromMs, toMs }: Span): Span[] {
  const answers = history.filter((event) => isService(event, client) && event.timeMs > fromMs && event.timeMs < toMs);
  const times = [fromMs, ...answers.map(({ timeMs }) => timeMs), toMs];
  return times.slice(1).map((time, n) => ({ fromMs: times[n] ?? 0, toMs: time }));
}

/** The store's answers are not the ensemble's. */
function isService(event: HistoryEvent, client: string): boolean {
  return (
    event.process === client && event.type === 'ok' && event.f !== 'fence' && event.f !== 'put' && event.f !== 'get'
  );
}

function faultSpans(history: History, endMs: number): Map<string, Span[]> {
  const spans = new Map<string, Span[]>();
  const open = new Map<string, number[]>();
  const add = (kind: string, span: Span): void => void spans.set(kind, [...(spans.get(kind) ?? []), span]);
  for (const event of history) {
    if (event.type !== 'fault') continue;
    const begun = open.get(event.fault) ?? [];
    if (event.phase === 'begin') open.set(event.fault, [...begun, event.timeMs]);
    else if (begun.length > 0) {
      add(event.fault, { fromMs: begun[0] ?? 0, toMs: event.timeMs });
      open.set(event.fault, begun.slice(1));
    }
  }
  for (const [kind, begun] of open) for (const fromMs of begun) add(kind, { fromMs, toMs: endMs });
  return spans;
}

function longest(gaps: readonly Span[]): number {
  // One by one: a long run has more than a call can have arguments.
  let longestMs = 0;
  for (const { fromMs, toMs } of gaps) longestMs = Math.max(longestMs, toMs - fromMs);
  return Math.round(longestMs);
}

function distributionOf(values: readonly number[]): Distribution {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { count: sorted.length, median: at(0.5), p90: at(0.9), max: at(1) };
}
