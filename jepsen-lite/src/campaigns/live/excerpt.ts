/** The part of the Raft log that a page shows: the committed entries around each finding. The whole log of a long run is too much to keep. */

import type { Entry } from '@holdfast/raft';

import type { Verdict } from '../../checkers/verdict.ts';
import type { Violation } from '../../checkers/violation.ts';
import type { History } from '../../history/history.ts';
import { linesAround, logPlaceOf } from '../../report/words/log-places.ts';
import { MAX_FINDINGS } from '../../report/limits.ts';
import type { LogLine } from '../../history/log-line.ts';
import { logLineOf } from '../../targets/log-line-of.ts';

export interface Judged {
  readonly history: History;
  readonly verdicts: readonly Verdict[];
  readonly failure: Violation | undefined;
  /** In the order of the log. */
  readonly committed: readonly Entry[];
}

/** In the order of the log; none where nothing was wrong. */
export function logExcerpt({ history, verdicts, failure, committed }: Judged): LogLine[] {
  const wrong = verdicts.filter(({ valid }) => valid === false).flatMap(({ broken }) => broken);
  const found = wrong.slice(0, MAX_FINDINGS).map(({ events }) => events);
  // One that no checker named is told by the end of the history.
  if (failure !== undefined) found.push([]);
  const places = found.flatMap((events) => logPlaceOf(history, events) ?? []);
  const entries = new Map(
    places.flatMap((place) => linesAround(committed, place)).map((entry) => [entry.index, entry]),
  );
  return [...entries.values()].sort((left, right) => left.index - right.index).map(logLineOf);
}
