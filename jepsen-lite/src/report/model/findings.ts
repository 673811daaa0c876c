/** What is broken, in words and as places on the timeline; the one to look at first comes first. */

import { MAX_FINDINGS } from '../limits.ts';
import type { FocusPoint } from '../timeline/page-data.ts';
import { lastWords, witnessOf, type Sentence, type Witness } from '../words/witness.ts';
import type { Verdict } from '../../checkers/verdict.ts';
import type { History } from '../../history/history.ts';
import type { LogLine } from '../../history/log-line.ts';
import { logPlaceOf, logText } from '../words/log-places.ts';
import { orderText } from '../words/order.ts';
import type { ReportRun } from '../run.ts';
import { rounded, type CallModel } from './calls.ts';
import { holdName, type HolderModel } from './holders.ts';

export interface Broken {
  /** Who says so: a checker, or an invariant of the run. */
  readonly by: string;
  readonly message: string;
  readonly witness: Witness;
  /** How far an order of the operations came, as text; undefined where the checker looks for none. */
  readonly order: string | undefined;
  /** The Raft log around it, as text; undefined where it is not known. */
  readonly log: LogPanel | undefined;
}

interface LogPanel {
  readonly index: number;
  readonly text: string;
}

/** A checker's own finding says more than the failure that was made of it. */
export function brokenOf({ history, verdicts, failure, log = [] }: ReportRun): {
  readonly list: readonly Broken[];
  readonly leftOut: number;
} {
  const wrong = verdicts.filter(({ valid }) => valid === false);
  const found = wrong.flatMap((verdict) => findingsOf(verdict).map((finding) => ({ by: verdict.checker, ...finding })));
  const ofCheckers = found.slice(0, MAX_FINDINGS).map(({ by, message, events, linearization }): Broken => {
    const order = linearization === undefined ? undefined : orderText(linearization);
    return { by, message, witness: witnessOf(history, events), order, log: logPanel(history, events, log) };
  });
  const isCheckers = failure !== undefined && wrong.some(({ checker }) => failure.name === `history: ${checker}`);
  const ofRun =
    failure === undefined || isCheckers
      ? []
      : [
          {
            by: failure.name,
            message: failure.message,
            witness: lastWords(history),
            order: undefined,
            log: logPanel(history, [], log),
          },
        ];
  return { list: [...ofRun, ...ofCheckers], leftOut: Math.max(found.length - MAX_FINDINGS, 0) };
}

function logPanel(history: History, events: readonly number[], log: readonly LogLine[]): LogPanel | undefined {
  const place = logPlaceOf(history, events);
  const text = place === undefined ? '' : logText(log, place);
  return place === undefined || text === '' ? undefined : { index: place.index, text };
}

/** One that is wrong and says nothing of it is told all the same. */
function findingsOf({ broken }: Verdict): Verdict['broken'] {
  return broken.length > 0 ? broken : [{ message: 'it found the history wrong, and named no event', events: [] }];
}

/** Clients and locks of the first findings, which are shown at the top. */
export function namedIn(list: readonly Broken[]): {
  readonly processes: readonly string[];
  readonly locks: readonly string[];
} {
  const sentences = list.flatMap(({ witness }) => witness.sentences);
  return {
    processes: sentences.map(({ event }) => event.process),
    locks: sentences.flatMap(({ event }) => lockOf(event) ?? []),
  };
}

export function pointsOf({ witness }: Broken, calls: CallModel, holders: HolderModel): readonly FocusPoint[] {
  return witness.sentences.map((sentence, place) => ({
    number: place + 1,
    atMs: rounded(sentence.atMs),
    text: sentence.text,
    ...whereIs(sentence, calls, holders),
  }));
}

type Where = Pick<FocusPoint, 'track' | 'place' | 'row' | 'endMs' | 'call'>;

function whereIs({ event, call, atMs }: Sentence, calls: CallModel, holders: HolderModel): Where {
  const ofCall = call === undefined ? undefined : calls.places.get(call.invoke.call);
  if (ofCall !== undefined) {
    const endMs = rounded(call?.completion?.timeMs ?? atMs);
    return { track: 'lane', place: ofCall.lane, row: ofCall.row, endMs, call: ofCall.place };
  }
  const endMs = rounded(atMs);
  if (event.type === 'leadership') return { track: 'leaders', place: 0, row: 0, endMs };
  const lock = lockOf(event);
  if (lock !== undefined && event.type !== 'believe' && event.type !== 'lost') {
    const hold = 'hold' in event ? holders.places.get(holdName({ lock, hold: event.hold })) : undefined;
    const place = hold?.lock ?? holders.names.indexOf(lock);
    const bandEndMs = event.type === 'granted' ? (hold?.endMs ?? endMs) : endMs;
    if (place >= 0 && place < holders.locks.length)
      return { track: 'lock', place, row: hold?.row ?? 0, endMs: bandEndMs };
  }
  const lane = calls.names.indexOf(event.process);
  if (lane >= 0 && lane < calls.lanes.length) return { track: 'lane', place: lane, row: 0, endMs };
  return { track: 'run', place: 0, row: 0, endMs };
}

/** The bucket of a lock's fenced data is called as the lock. */
function lockOf(event: Sentence['event']): string | undefined {
  if ('lock' in event) return event.lock;
  return event.type === 'accepted' ? event.bucket : undefined;
}
