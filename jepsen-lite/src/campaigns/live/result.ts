/** What is kept of one run beside its history: `result.json`, and what the run's end is. */

import { checkExpectations } from '../../checkers/check.ts';
import type { Verdict } from '../../checkers/verdict.ts';
import type { Violation } from '../../checkers/violation.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { CROWD_SUFFIX } from '../../workloads/crowd.ts';
import { applicationNames } from '../../plan/plan.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import type { Scraped } from '../../targets/live/processes/scrape.ts';
import type { Entry } from '@holdfast/raft';
import type { LogLine } from '../../history/log-line.ts';
import type { Fault } from '../../nemeses/index.ts';
import { lockOfHolder } from '../../plan/plan.ts';
import { demandsOf } from '../../workloads/index.ts';
import type { ScheduleFacts } from '../../workloads/workload.ts';
import { availability, type Availability } from './availability.ts';
import { logExcerpt } from './excerpt.ts';

/** As an exit code of the command: 3 is for what it cannot read. */
export const EXIT_CODES = { valid: 0, invalid: 1, unknown: 2 } as const;
export const USAGE_EXIT_CODE = 3;

export type RunVerdict = keyof typeof EXIT_CODES;

/** What both targets tell of a run. */
export interface RanScenario {
  readonly target: 'live' | 'sim';
  readonly scenario: Scenario;
  readonly failure: Violation | undefined;
  readonly history: History;
  readonly verdicts: readonly Verdict[];
  readonly begun: ReadonlyMap<string, number>;
  readonly leftOut: ReadonlyMap<string, readonly string[]>;
  readonly idle: readonly string[];
  readonly struck: ReadonlyMap<string, number>;
  /** What the ensemble committed, in the order of the log; undefined where the logs could not be read. */
  readonly committed: readonly Entry[] | undefined;
  readonly leaderChanges: number;
  readonly wallMs: number;
  readonly onLoopback?: string | undefined;
  /** Of a live run: what the servers' logs say. */
  readonly log?: LogFigures | undefined;
  /** Of a live run: how often servers were asked for their status and metrics, and what the metrics told of snapshots. */
  readonly scrapes?: Omit<Scraped, 'leaderChanges'>;
}

export interface LogFigures {
  readonly entries: number;
  /** Those that all servers had forgotten: judged by copies that were made before. */
  readonly entriesForgotten: number;
  /** Snapshots of servers that were compared with what the entries make. */
  readonly snapshots: number;
  /** Calls that were answered with success, and those of them that are in no entry; undefined where the logs end too early to tell. */
  readonly acknowledged: number;
  readonly acknowledgedLost: number | undefined;
  /** Why they do; undefined where they are whole. */
  readonly cut: string | undefined;
  readonly sessionsExpired: number;
}

interface CrowdFigures {
  /** Sessions that were to be there at a time. */
  readonly planned: number;
  /** Sessions that began, and how often one had a connection again that had lost its own. */
  readonly connected: number;
  readonly reconnected: number;
}

export interface RunResult {
  readonly verdict: RunVerdict;
  /** In one sentence. */
  readonly why: string;
  readonly target: 'live' | 'sim';
  readonly seed: number;
  readonly servers: number;
  readonly durationMs: number;
  readonly wallMs: number;
  readonly failure: Violation | undefined;
  readonly verdicts: readonly Verdict[];
  /** Faults that were begun, by kind. */
  readonly begun: Readonly<Record<string, number>>;
  /** What was seen of them, by effect. */
  readonly struck: Readonly<Record<string, number>>;
  /** Kinds that the target cannot inflict, with what it lacks. */
  readonly leftOut: Readonly<Record<string, readonly string[]>>;
  readonly idle: readonly string[];
  readonly onLoopback: string | undefined;
  /** Calls by operation and outcome. */
  readonly operations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly leaderChanges: number;
  readonly sessionsExpired: number;
  /** Sessions of crowds; undefined where clients have none. */
  readonly crowd: CrowdFigures | undefined;
  readonly availability: Availability;
  readonly scrapes: RanScenario['scrapes'];
  readonly log: LogFigures | undefined;
  /** The committed entries around what was wrong. */
  readonly logExcerpt: readonly LogLine[];
}

/** What happens only where a fault of the right kind meets the right moment: a run in which it did not has been judged all the same. */
const MAY_FIND_NOTHING = new Set(['expiry', 'ghosts', 'unfenced', 'belief', 'owners', 'grants', 'releases']);

export function resultOf(run: RanScenario): RunResult {
  const { target, scenario, failure, history, verdicts, begun, leftOut, idle, struck, leaderChanges, wallMs } = run;
  const operations = countOperations(history);
  // In a simulated run it is chance whom a fault meets: campaigns of many demand that each kind met somebody.
  const crowd = crowdOf(scenario, history);
  const expected = checkExpectations(verdicts, demandsOf(scenario.clients, factsOf(scenario)));
  const { verdict, why } = judge(
    { ...run, expected, idle: target === 'live' ? idle : [], crowd, unserved: target === 'live' && unserved(run) },
    operations,
  );
  return {
    verdict,
    why,
    target,
    seed: scenario.seed,
    servers: scenario.servers,
    durationMs: scenario.durationMs,
    wallMs: Math.round(wallMs),
    failure,
    verdicts,
    begun: Object.fromEntries(begun),
    struck: Object.fromEntries([...struck].filter(([, count]) => count > 0)),
    leftOut: Object.fromEntries(leftOut),
    idle,
    onLoopback: run.onLoopback,
    operations,
    leaderChanges,
    // Of sessions whose clients were killed only the log tells.
    sessionsExpired: run.log?.sessionsExpired ?? history.filter(isExpiry).length,
    crowd,
    availability: availability(history, scenario.clients.flatMap(applicationNames)),
    scrapes: run.scrapes,
    log: run.log,
    logExcerpt: logExcerpt({ history, verdicts, failure, committed: run.committed ?? [] }),
  };
}

/** An observer was to join, and none was seen to serve. */
function unserved({ scenario, struck }: Pick<RanScenario, 'scenario' | 'struck'>): boolean {
  const planned = scenario.faults.some((fault) => fault.kind === 'add-member' && fault.observer);
  return planned && (struck.get('observer-served') ?? 0) === 0;
}

function factsOf({ clients, faults }: Scenario): ScheduleFacts {
  const longestMs = Math.max(...clients.map(({ sessionTimeoutMs }) => sessionTimeoutMs));
  const isLong = (fault: Fault): boolean =>
    fault.kind === 'pause' && lockOfHolder(fault.host) !== undefined && fault.forMs > longestMs;
  return { longPausesOfHolders: faults.filter(isLong).length };
}

function isExpiry(event: HistoryEvent): boolean {
  return event.type === 'ended-session' && event.reason === 'expired';
}

function crowdOf({ clients }: Scenario, history: History): CrowdFigures | undefined {
  const planned = clients.reduce((sum, { crowd = 0, sessions = 1 }) => sum + crowd * sessions, 0);
  if (planned === 0) return undefined;
  const count = (event: 'connected' | 'reconnected'): number =>
    history.filter((each) => each.type === 'session' && each.event === event && each.process.endsWith(CROWD_SUFFIX))
      .length;
  return { planned, connected: count('connected'), reconnected: count('reconnected') };
}

type Operations = Readonly<Record<string, Readonly<Record<string, number>>>>;

function countOperations(history: History): Operations {
  const counts: Record<string, Record<string, number>> = {};
  for (const event of history) {
    if (event.type !== 'invoke' && event.type !== 'ok' && event.type !== 'fail' && event.type !== 'info') continue;
    const ofName = (counts[event.f] ??= { invoke: 0, ok: 0, fail: 0, info: 0 });
    ofName[event.type] = (ofName[event.type] ?? 0) + 1;
  }
  return counts;
}

/** Invalid before unknown before valid: a run that has shown nothing is never as good as one that has. */
export function judge(
  {
    failure,
    idle,
    verdicts,
    crowd,
    expected,
    log,
    unserved = false,
  }: Pick<RanScenario, 'failure' | 'idle' | 'verdicts'> & {
    readonly log?: Pick<LogFigures, 'cut'> | undefined;
    readonly expected: Verdict;
    readonly unserved?: boolean;
  } & Partial<Pick<RunResult, 'crowd'>>,
  operations: Operations,
): { readonly verdict: RunVerdict; readonly why: string } {
  if (failure !== undefined) return { verdict: 'invalid', why: `${failure.name}: ${failure.message}` };
  if (idle.length > 0) return { verdict: 'invalid', why: `scheduled, and nothing was seen of it: ${idle.join(', ')}` };
  const wrong = verdicts.find(({ valid }) => valid === false);
  if (wrong !== undefined) return { verdict: 'invalid', why: `${wrong.checker}: ${wrong.broken[0]?.message}` };
  if (log?.cut !== undefined) return { verdict: 'unknown', why: `the servers' logs are not whole: ${log.cut}` };
  if (crowd !== undefined && crowd.connected < crowd.planned) {
    return { verdict: 'unknown', why: `only ${crowd.connected} of the crowd's ${crowd.planned} sessions began` };
  }
  if (unserved) return { verdict: 'unknown', why: 'an observer was to join, and answered no client' };
  const names = Object.entries(operations);
  if (names.length === 0) return { verdict: 'unknown', why: 'no client has called anything' };
  const never = names.flatMap(([name, counts]) => ((counts['ok'] ?? 0) === 0 ? name : []));
  if (never.length > 0) return { verdict: 'unknown', why: `not one of these has succeeded: ${never.join(', ')}` };
  const open = verdicts.filter(({ valid, checker }) => valid === 'unknown' && !MAY_FIND_NOTHING.has(checker));
  if (open.length > 0) {
    return {
      verdict: 'unknown',
      why: `nothing to judge, or given up: ${open.map(({ checker }) => checker).join(', ')}`,
    };
  }
  const [missed] = expected.broken;
  if (missed !== undefined) return { verdict: 'unknown', why: `it has shown too little: ${missed.message}` };
  return { verdict: 'valid', why: 'nothing was wrong' };
}
