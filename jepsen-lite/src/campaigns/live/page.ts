/** A run's page, made of what is kept of it: so it is the same when the run ends and whenever it is made again. */

import { basename } from 'node:path';

import type { History } from '../../history/history.ts';
import type { ReportRun } from '../../report/run.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import type { RunResult } from './result.ts';

export interface KeptRun {
  readonly directory: string;
  readonly scenario: Scenario | undefined;
  readonly history: History;
}

export function pageOf(result: RunResult, { directory, scenario, history }: KeptRun): ReportRun {
  const { target, verdict, verdicts, failure, begun, leftOut, idle, struck, onLoopback } = result;
  const hosts = onLoopback === undefined ? 'hosts of their own' : 'the loopback';
  return {
    title: basename(directory),
    target: target === 'sim' ? 'simulated' : `live, on ${hosts}`,
    history,
    verdicts,
    failure,
    valid: verdict === 'unknown' ? 'unknown' : verdict === 'valid',
    scenario,
    struck: new Map(Object.entries(struck)),
    begun: new Map(Object.entries(begun)),
    idle,
    leftOut: new Map(Object.entries(leftOut)),
    outages: result.availability.distributions,
    log: result.logExcerpt,
    replay: `npx -y pnpm@12 jepsen replay ${directory}`,
  };
}
