/** All workloads. What clients do, which scenarios may ask for it, and which checkers judge a run follow from this list. */

import { CHECKERS, type CheckerName } from '../checkers/check.ts';
import type { ClientPlan } from '../plan/plan.ts';
import { bursts } from './bursts.ts';
import { criticalSections } from './critical-sections.ts';
import { registers } from './registers.ts';
import { steadyReads } from './steady-reads.ts';
import type { Workload } from './workload.ts';

/** The order of those with a share decides what a worker draws: a new one goes to the end. */
export const WORKLOADS: readonly Workload[] = [registers, criticalSections, bursts, steadyReads];

/** They judge every history. */
const ALWAYS: readonly CheckerName[] = ['completions', 'liveness'];

/** What clients do whose plan names no workloads; some of these only where the rest of the plan asks for it. */
const USUAL = WORKLOADS.filter(({ oneIn }) => oneIn === undefined);

export const USUAL_NAMES = USUAL.map(({ name }) => name);

/** What a client does, in the order of the list. */
export function workloadsOf({ workloads }: Pick<ClientPlan, 'workloads'>): readonly Workload[] {
  return workloads === undefined ? USUAL : WORKLOADS.filter(({ name }) => workloads.includes(name));
}

/** Those that judge what these clients do, in the order of all checkers. */
export function checkersOf(clients: readonly Pick<ClientPlan, 'workloads'>[]): CheckerName[] {
  const names = new Set([...ALWAYS, ...clients.flatMap((plan) => workloadsOf(plan).flatMap(({ checks }) => checks))]);
  return (Object.keys(CHECKERS) as CheckerName[]).filter((name) => names.has(name));
}
