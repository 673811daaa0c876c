/** What a report is made of: a run that is over, wherever it ran. */

import { worst } from '../checkers/check.ts';
import type { Verdict } from '../checkers/verdict.ts';
import type { Violation } from '../checkers/violation.ts';
import type { History } from '../history/history.ts';
import type { LogLine } from '../history/log-line.ts';
import type { Scenario } from '../scenario/scenario.ts';

interface Outage {
  /** Of clients. */
  readonly count: number;
  readonly median: number;
  readonly p90: number;
  readonly max: number;
}

export interface ReportRun {
  /** Its heading: `seed 17`, `critical sections under partitions`. */
  readonly title: string;
  /** Where it ran: `simulated`, `live, in network namespaces`. */
  readonly target: string;
  readonly history: History;
  readonly verdicts: readonly Verdict[];
  /** The first thing that was wrong, as the run said it; a checker's verdict that is false says more. */
  readonly failure?: Violation | undefined;
  /** @default false with a failure, else the worst of the verdicts; of none: unknown */
  readonly valid?: Verdict['valid'];
  readonly scenario?: Scenario | undefined;
  /** How often each effect of a fault was seen. */
  readonly struck?: ReadonlyMap<string, number>;
  /** Faults that were begun, by kind. @default counted in the history */
  readonly begun?: ReadonlyMap<string, number>;
  /** Kinds of faults that were scheduled and did nothing. */
  readonly idle?: readonly string[];
  /** Kinds that the target could not be made to suffer, and what it lacks. */
  readonly leftOut?: ReadonlyMap<string, readonly string[]>;
  /** The longest times without service, in milliseconds, over the clients, by the kind of fault that they touch. */
  readonly outages?: Readonly<Record<string, Outage>> | undefined;
  /** Committed entries of the Raft log around what is broken, in their order. */
  readonly log?: readonly LogLine[] | undefined;
  /** The command that runs it again. */
  readonly replay?: string | undefined;
}

export function outcomeOf({ failure, valid, verdicts }: ReportRun): Verdict['valid'] {
  if (failure !== undefined || verdicts.some((verdict) => verdict.valid === false)) return false;
  return valid ?? worst(verdicts);
}
