/** Runs a scenario on the target that was asked for, and keeps what came of it in a directory. */

import { writeReport } from '../../report/write-report.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import { runLive } from '../../targets/live/run.ts';
import { requireOlderBuild } from '../../targets/live/versions/older-build.ts';
import { runScenario } from '../../targets/sim/run.ts';
import { pageOf } from './page.ts';
import { resultOf, type RanScenario, type RunResult } from './result.ts';
import { prepareRunDirectory, saveHistory, saveRun, saveScenario } from './run-directory.ts';

export const TARGETS = ['live', 'sim'] as const;
export type TargetName = (typeof TARGETS)[number];

export interface ExecuteOptions {
  readonly target: TargetName;
  readonly directory: string;
  /** Of the live target. @default false */
  readonly loopback?: boolean;
  /** Of the live target: for servers, store and clients. @default nothing */
  readonly environment?: NodeJS.ProcessEnv;
  /** Of the live target. @default 10,000 */
  readonly recoveryMs?: number;
  /** Whether the run is kept as a page, too. @default true */
  readonly page?: boolean;
}

/** @throws RunDirectoryError, OlderBuildError */
export async function execute(scenario: Scenario, options: ExecuteOptions): Promise<RunResult> {
  const { target, directory } = options;
  if (target === 'live') requireOlderBuild(scenario.olderLockd);
  prepareRunDirectory(directory);
  saveScenario(directory, scenario);
  const ran = target === 'live' ? await live(scenario, options) : await simulated(scenario);
  const result = resultOf(ran);
  saveRun(directory, scenario, ran.history, result);
  if (options.page === false) return result;
  await writeReport(directory, pageOf(result, { directory, scenario, history: ran.history }));
  return result;
}

async function live(scenario: Scenario, options: ExecuteOptions): Promise<RanScenario> {
  const { target: _target, page: _page, ...rest } = options;
  const { directory } = options;
  const {
    scraped,
    log: consulted,
    ...result
  } = await runLive(scenario, {
    ...rest,
    failed: (violation) => saveScenario(directory, scenario, violation),
    recorded: (history) => saveHistory(directory, history),
  });
  const { leaderChanges, ...scrapes } = scraped;
  if (consulted === undefined) return { ...result, target: 'live', committed: undefined, leaderChanges, scrapes };
  const { history: _history, verdicts: _verdicts, violation: _violation, committed, ...log } = consulted;
  return { ...result, target: 'live', committed, leaderChanges, scrapes, log };
}

async function simulated(scenario: Scenario): Promise<RanScenario> {
  const startedAt = performance.now();
  const { failure, history, verdicts, begun, idle, struck, committed, elections } = await runScenario(scenario);
  return {
    target: 'sim',
    scenario,
    failure,
    history,
    verdicts,
    begun,
    leftOut: new Map(),
    idle,
    struck,
    committed,
    leaderChanges: Math.max(0, elections - 1),
    wallMs: performance.now() - startedAt,
  };
}
