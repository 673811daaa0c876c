/** All that the page of a run shows, out of the run: the data of its timeline, and what is written around it. */

import type { PageData } from '../timeline/page-data.ts';
import type { ReportRun } from '../run.ts';
import { callModel, rounded } from './calls.ts';
import { brokenOf, namedIn, pointsOf, type Broken } from './findings.ts';
import { holderModel } from './holders.ts';
import { faultTracks, leaderRows, phases } from './strips.ts';

export interface PageModel {
  readonly data: PageData;
  readonly broken: readonly Broken[];
  /** What the page does not show, each as a clause; empty when it shows all. */
  readonly leftOut: readonly string[];
}

export function pageModel(run: ReportRun): PageModel {
  const { history } = run;
  const { list: broken, leftOut: findingsLeftOut } = brokenOf(run);
  const named = namedIn(broken);
  const atMs = broken[0]?.witness.sentences.at(-1)?.atMs;
  const calls = callModel(history, { processes: named.processes, atMs });
  const holders = holderModel(history, named.locks);
  const data: PageData = {
    startMs: rounded(history[0]?.timeMs ?? 0),
    endMs: rounded(history.at(-1)?.timeMs ?? 0),
    texts: calls.texts,
    lanes: calls.lanes,
    calls: calls.calls,
    locks: holders.locks,
    leaders: leaderRows(history),
    faults: faultTracks(history),
    phases: phases(history),
    findings: broken.map((each) => ({
      points: pointsOf(each, calls, holders),
      locks: namedIn([each]).locks.map((lock) => holders.names.indexOf(lock)),
    })),
  };
  const leftOut = [
    [calls.leftOut.calls, 'calls'],
    [calls.leftOut.lanes, 'clients'],
    [holders.leftOut.locks, 'locks'],
    [holders.leftOut.holds, 'holds of locks'],
    [findingsLeftOut, 'findings'],
  ] as const;
  return { data, broken, leftOut: leftOut.flatMap(([count, what]) => (count === 0 ? [] : `${count} ${what}`)) };
}
