/**
 * What the rest of a history says about a moment in it: who had begun to lead, what had been committed before that, how far wall clocks may
 * be apart, and from when on nothing is wrong. Where servers are only asked, they are seen to lead a little late.
 */

import { callsOf, type EventOf } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';

/** Of who is asked: it may have led for so long. */
const SEEN_LATE_MS = 2_000;

/** Calls that are entries of the log, with the time of whoever led. */
const LOGGED = ['create', 'create-sequential', 'set', 'delete', 'transaction', 'acquire', 'release'] as const;

export class Instants {
  readonly #begins: readonly EventOf<'leadership'>[];
  readonly #logged: readonly { readonly invoke: HistoryEvent; readonly ok: HistoryEvent }[];
  readonly #faults: readonly EventOf<'fault'>[];
  readonly healed: EventOf<'phase'> | undefined;

  constructor(history: History) {
    this.#begins = history.filter(
      (event) => event.type === 'leadership' && event.phase === 'begin',
    ) as EventOf<'leadership'>[];
    this.#faults = history.filter((event) => event.type === 'fault' && event.phase === 'begin') as EventOf<'fault'>[];
    this.healed = history.find((event) => event.type === 'phase' && event.phase === 'healed') as
      | EventOf<'phase'>
      | undefined;
    this.#logged = callsOf(history, ...LOGGED)
      .flatMap(({ invoke, completion }) => (completion?.type === 'ok' ? [{ invoke, ok: completion }] : []))
      .toSorted((a, b) => a.ok.seq - b.ok.seq);
  }

  /** The last one between the two who may have begun to lead. */
  leaderBetween(fromMs: number, toMs: number): EventOf<'leadership'> | undefined {
    return this.#begins.findLast(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs + SEEN_LATE_MS);
  }

  /** When the newest entry was asked for that whoever began to lead then had for sure. */
  committedBefore({ timeMs }: EventOf<'leadership'>): number {
    let newest = 0;
    for (const { invoke, ok } of this.#logged) {
      if (ok.timeMs > timeMs - SEEN_LATE_MS) break;
      newest = Math.max(newest, invoke.timeMs);
    }
    return newest;
  }

  struckBefore(kind: string, { seq }: HistoryEvent): boolean {
    return this.#faults.some((fault) => fault.fault === kind && fault.seq < seq);
  }
}
