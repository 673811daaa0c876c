/** What the rounds of one situation say together. Nothing tried, or a write of the newest holder not taken, is unknown and never safe. */

import type { Situation, SituationName } from '../situations/situation.ts';
import type { ReadEvent, RoundEvent, WriteEvent } from './event.ts';
import { judgeRound, type Judged } from './judge.ts';

interface Tally {
  readonly tried: number;
  readonly taken: number;
  readonly refused: number;
  readonly unknown: number;
}

/** The round of a write that got in. */
export interface Story {
  readonly write: WriteEvent;
  readonly events: readonly RoundEvent[];
}

export interface Finding {
  readonly name: SituationName;
  readonly promise: string;
  readonly verdict: 'safe' | 'stale' | 'unknown' | 'left out';
  /** Why it is unknown or left out; what else there is to say. */
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  readonly rounds: number;
  /** What an old holder wrote: stale, or racing with the newer one. */
  readonly old: Tally;
  /** What the holder of the newest token wrote. */
  readonly newest: Tally;
  readonly gotIn: number;
  readonly stories: readonly Story[];
}

/** One tells enough of a situation; the count has the rest. */
const MAX_STORIES = 3;

export function leftOut({ name, promise }: Situation, reason: string): Finding {
  const none = tally([]);
  return {
    name,
    promise,
    verdict: 'left out',
    reasons: [reason],
    warnings: [],
    rounds: 0,
    old: none,
    newest: none,
    gotIn: 0,
    stories: [],
  };
}

/** `failure` is why not all rounds could be played. */
export function find(situation: Situation, rounds: readonly (readonly RoundEvent[])[], failure?: string): Finding {
  const { name, promise } = situation;
  const judged = rounds.map((events) => ({ events, ...judgeRound(events) }));
  const writes = rounds.flatMap((events) => events.filter((event) => event.type === 'write'));
  const old = tally(
    writes.filter((write) => write.purpose === 'racing' || judged.some(({ stale }) => stale.includes(write))),
  );
  const newest = tally(writes.filter(({ purpose }) => purpose === 'newest'));
  const stories = judged.flatMap(({ events, gotIn }) => gotIn.map((write) => ({ write, events })));
  const doubts = [...(failure === undefined ? [] : [failure]), ...doubtsAbout(situation, judged, writes, old, newest)];
  return {
    name,
    promise,
    verdict: stories.length > 0 ? 'stale' : doubts.length > 0 ? 'unknown' : 'safe',
    reasons: [...doubts, ...remarks(judged, writes)],
    warnings: warnings(rounds, writes),
    rounds: rounds.length,
    old,
    newest,
    gotIn: stories.length,
    stories: stories.slice(0, MAX_STORIES),
  };
}

function tally(writes: readonly WriteEvent[]): Tally {
  const count = (type: WriteEvent['outcome']['type']): number =>
    writes.filter(({ outcome }) => outcome.type === type).length;
  return { tried: writes.length, taken: count('taken'), refused: count('refused'), unknown: count('unknown') };
}

function doubtsAbout(
  { tries }: Situation,
  judged: readonly Judged[],
  writes: readonly WriteEvent[],
  old: Tally,
  newest: Tally,
): string[] {
  const doubts: string[] = [];
  const sum = (count: (round: Judged) => number): number => judged.reduce((total, round) => total + count(round), 0);
  const stale = sum((round) => round.stale.length);
  if (newest.tried === 0) doubts.push('the newest holder wrote nothing');
  if (newest.taken < newest.tried) {
    const first = writes.find(({ purpose, outcome }) => purpose === 'newest' && outcome.type !== 'taken');
    doubts.push(
      `${newest.tried - newest.taken} of ${newest.tried} writes of the newest holder were not taken: ${said(first)}`,
    );
  }
  if (tries === 'stale' && stale === 0) doubts.push('no stale write came after the first contact of a newer holder');
  if (tries === 'racing' && sum(({ overlaps }) => overlaps) === 0)
    doubts.push('no two writes were under way at the same moment');
  if (old.unknown > 0) {
    const first = writes.find(({ purpose, outcome }) => purpose !== 'newest' && outcome.type === 'unknown');
    doubts.push(
      `${old.unknown} of ${old.tried} writes of the old holder were neither taken nor refused: ${said(first)}`,
    );
  }
  const acknowledged = sum((round) => round.acknowledged.length);
  if (acknowledged > 0) {
    doubts.push(
      `${acknowledged} stale writes were acknowledged, though no read showed them: refuse them, so that the holder hears of it`,
    );
  }
  doubts.push(...aboutReads(judged));
  return doubts;
}

function aboutReads(judged: readonly (Judged & { readonly events?: readonly RoundEvent[] })[]): string[] {
  const reads: ReadEvent[] = judged.flatMap(({ events = [] }) => events.filter((event) => event.type === 'read'));
  const failed = reads.filter(({ value }) => value === undefined);
  const unexpected = judged.flatMap((round) => round.unexpected);
  const doubts: string[] = [];
  if (reads.length === failed.length) doubts.push('no read succeeded');
  if (failed.length > 0) doubts.push(`${failed.length} of ${reads.length} reads failed: ${said(failed[0])}`);
  if (unexpected.length > 0) {
    const shown = unexpected[0]?.value;
    doubts.push(
      `${unexpected.length} reads showed not what was written last, but ${shown === null ? 'nothing' : JSON.stringify(shown)}`,
    );
  }
  return doubts;
}

function said(event: { readonly outcome: WriteEvent['outcome'] } | undefined): string {
  return event === undefined || event.outcome.type === 'taken' ? 'nothing was said' : event.outcome.message;
}

function remarks(judged: readonly Judged[], writes: readonly WriteEvent[]): string[] {
  const early = tally(writes.filter(({ purpose }) => purpose === 'before-contact'));
  const overlaps = judged.reduce((total, round) => total + round.overlaps, 0);
  return [
    ...(early.tried === 0
      ? []
      : [
          `before the newer holder’s first contact ${early.taken} of ${early.tried} were taken, which no fence can prevent`,
        ]),
    ...(overlaps === 0 ? [] : [`${overlaps} writes of the old holder were under way together with the newer one’s`]),
  ];
}

/** Not a stale write, but a way around the fence. */
function warnings(rounds: readonly (readonly RoundEvent[])[], writes: readonly WriteEvent[]): string[] {
  const shown = new Set(
    rounds.flatMap((events) => events.flatMap((event) => (event.type === 'read' ? [event.value] : []))),
  );
  return writes
    .filter((write) => write.purpose === 'unfenced' && (write.outcome.type === 'taken' || shown.has(write.value)))
    .map(
      ({ token }) =>
        `a write ${token === undefined ? 'without a token' : `with the token ${JSON.stringify(token)}`} got in`,
    );
}
