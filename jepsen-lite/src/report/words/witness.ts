/**
 * A failing sub-history in words: the few operations that show what is broken, each as a sentence, in the order in which they happened.
 * Where a checker names fewer than two, what happened to the same thing before comes with it.
 */

import { MAX_SENTENCES, MIN_SENTENCES } from '../limits.ts';
import { callsOf, isCompletion, type Call } from '../../history/calls.ts';
import { derived } from '../../history/derived.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { sentenceOf, sentenceOfCall, type ClientOf } from './events.ts';

export interface Sentence {
  readonly text: string;
  readonly atMs: number;
  /** Its first event. */
  readonly seq: number;
  readonly event: HistoryEvent;
  /** The call that it tells, with its answer. */
  readonly call: Call | undefined;
  /** Of what happened before, and is none of what the checker named. */
  readonly context: boolean;
}

export interface Witness {
  readonly sentences: readonly Sentence[];
  /** Operations in the middle for which there was no room. */
  readonly leftOut: number;
}

/** @param seqs the numbers of the events that show what is broken, rising; those that the history does not have are passed over */
export function witnessOf(history: History, seqs: readonly number[]): Witness {
  const named = seqs.flatMap((seq) => eventAt(history, seq) ?? []);
  const sentences = sentencesOf(history, named, false);
  const first = sentences[0];
  const missing = MIN_SENTENCES - sentences.length;
  const before = first === undefined || missing <= 0 ? [] : contextOf(history, first, missing);
  const all = [...sentencesOf(history, before, true), ...sentences];
  const leftOut = Math.max(all.length - MAX_SENTENCES, 0);
  const half = MAX_SENTENCES / 2;
  return { sentences: leftOut === 0 ? all : [...all.slice(0, half), ...all.slice(-half)], leftOut };
}

/** What was recorded last, for a run that was stopped at the moment when something broke. */
export function lastWords(history: History): Witness {
  const told: HistoryEvent[] = [];
  for (let place = history.length - 1; place >= 0 && told.length < MAX_SENTENCES / 2; place -= 1) {
    const event = history[place];
    if (event !== undefined && event.type !== 'believe' && event.type !== 'renewed') told.unshift(event);
  }
  return { sentences: sentencesOf(history, told, true), leftOut: 0 };
}

/** Of a session, as the history shows it. */
export const clientsOf = derived((history): ClientOf => {
  const clients = new Map<number, string>();
  for (const event of history) {
    if (event.type !== 'session' && event.type !== 'invoke') continue;
    const { session } = event as { readonly session?: number };
    if (session !== undefined && !clients.has(session)) clients.set(session, event.process);
  }
  return (session) => clients.get(session);
});

const callsByNumber = derived((history) => new Map(callsOf(history).map((call) => [call.invoke.call, call])));

/** Numbers rise by one in what the harness records, and may have gaps in a file that somebody cut. */
export function eventAt(history: History, seq: number): HistoryEvent | undefined {
  const there = history[seq - 1];
  if (there?.seq === seq) return there;
  let low = 0;
  let high = history.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const event = history[middle];
    if (event === undefined || event.seq === seq) return event;
    if (event.seq < seq) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

/** A call that is named by its beginning and its end is one sentence. */
function sentencesOf(history: History, events: readonly HistoryEvent[], context: boolean): Sentence[] {
  const clientOf = clientsOf(history);
  const told = new Set<Call>();
  return events.flatMap((event) => {
    const call = callOf(history, event);
    if (call === undefined) {
      return { text: sentenceOf(event, clientOf), atMs: event.timeMs, seq: event.seq, event, call, context };
    }
    if (told.has(call)) return [];
    told.add(call);
    const { timeMs: atMs, seq } = call.invoke;
    return { text: sentenceOfCall(call), atMs, seq, event, call, context };
  });
}

/** The call whose invocation or answer this is; a second answer is none, and told by itself. */
function callOf(history: History, event: HistoryEvent): Call | undefined {
  if (event.type !== 'invoke' && !isCompletion(event)) return undefined;
  const call = callsByNumber(history).get(event.call);
  return call?.invoke === event || call?.completion === event ? call : undefined;
}

function contextOf(history: History, { event, call }: Sentence, count: number): HistoryEvent[] {
  const about = subjectsOf(event);
  const found: HistoryEvent[] = [];
  const calls = new Set<number>(call === undefined ? [] : [call.invoke.call]);
  for (let place = history.indexOf(call?.invoke ?? event) - 1; place >= 0 && found.length < count; place -= 1) {
    const before = history[place];
    if (before === undefined || !tells(before) || !subjectsOf(before).some((subject) => about.includes(subject)))
      continue;
    if ('call' in before) {
      if (calls.has(before.call)) continue;
      calls.add(before.call);
    }
    found.unshift(before);
  }
  return found;
}

function tells({ type }: HistoryEvent): boolean {
  return type === 'ok' || type === 'info' || type === 'granted' || type === 'removed' || type === 'ended-session';
}

/** What an event is about; of a call, what it is done to. */
function subjectsOf(event: HistoryEvent): string[] {
  if ('lock' in event) return [`lock ${event.lock}`];
  if ('path' in event) return [`node ${event.path}`];
  if ('bucket' in event) return [`lock ${event.bucket}`, `bucket ${event.bucket}`];
  if ('session' in event) return [`session ${event.session}`];
  return 'call' in event ? [] : [`process ${event.process}`];
}
