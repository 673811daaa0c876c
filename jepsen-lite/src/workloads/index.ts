/** All workloads. What clients do, which scenarios may ask for it, and which checkers judge a run follow from this list. */

import { CHECKERS, type CheckerName, type Expectations } from '../checkers/check.ts';
import type { ClientPlan } from '../plan/plan.ts';
import { bulkWrites } from './bulk-writes.ts';
import { bursts } from './bursts.ts';
import { crowd } from './crowd.ts';
import { casRegister } from './nodes/cas-register.ts';
import { criticalSections } from './locks/critical-sections.ts';
import { deadlocks } from './locks/deadlocks.ts';
import { delayedLocks } from './locks/delayed-locks.ts';
import { exactlyOnce } from './nodes/exactly-once.ts';
import { fairQueue } from './locks/fair-queue.ts';
import { listAppend } from './nodes/list-append.ts';
import { lockStatus } from './locks/lock-status.ts';
import { containers } from './nodes/containers.ts';
import { readWrite } from './locks/read-write.ts';
import { replicatedKv } from './replicas/replicated-kv.ts';
import { reentrant } from './locks/reentrant.ts';
import { registers } from './nodes/registers.ts';
import { semaphore } from './locks/semaphore.ts';
import { severalLocks } from './locks/several-locks.ts';
import { steadyReads } from './nodes/steady-reads.ts';
import { transactions } from './nodes/transactions.ts';
import { ttlNodes } from './nodes/ttl-nodes.ts';
import { watches } from './nodes/watches.ts';
import { unfencedControl } from './locks/unfenced-control.ts';
import { unfencedReadWrite } from './locks/unfenced-read-write.ts';
import type { ScheduleFacts, Workload } from './workload.ts';

/** The order of those with a share decides what a worker draws: a new one goes to the end. */
export const WORKLOADS: readonly Workload[] = [
  registers,
  criticalSections,
  bursts,
  steadyReads,
  bulkWrites,
  listAppend,
  casRegister,
  exactlyOnce,
  fairQueue,
  lockStatus,
  unfencedControl,
  crowd,
  watches,
  transactions,
  ttlNodes,
  containers,
  readWrite,
  semaphore,
  severalLocks,
  reentrant,
  deadlocks,
  unfencedReadWrite,
  delayedLocks,
  replicatedKv,
];

/** They judge every history. */
const ALWAYS: readonly CheckerName[] = ['completions', 'liveness'];

/** What clients do whose plan names no workloads; some of these only where the rest of the plan asks for it. */
const USUAL = WORKLOADS.filter(({ oneIn, onRequest }) => oneIn === undefined && onRequest !== true);

export const USUAL_NAMES = USUAL.map(({ name }) => name);

/** What a client does, in the order of the list. */
export function workloadsOf({ workloads }: Pick<ClientPlan, 'workloads'>): readonly Workload[] {
  return workloads === undefined ? USUAL : WORKLOADS.filter(({ name }) => workloads.includes(name));
}

/** Whether one of these clients uses commands of the latest state version. */
export function usesLatestVersion(clients: readonly Pick<ClientPlan, 'workloads'>[]): boolean {
  return clients.some((client) => workloadsOf(client).some(({ latestVersion }) => latestVersion === true));
}

/** Whether one of these clients uses the replicas of a fenced store. */
export function usesReplicas(clients: readonly Pick<ClientPlan, 'workloads'>[]): boolean {
  return clients.some((client) => workloadsOf(client).some((workload) => workload.usesReplicas === true));
}

/** Those that judge what these clients do, in the order of all checkers. */
export function checkersOf(clients: readonly Pick<ClientPlan, 'workloads'>[]): CheckerName[] {
  const names = new Set([...ALWAYS, ...clients.flatMap((plan) => workloadsOf(plan).flatMap(({ checks }) => checks))]);
  return (Object.keys(CHECKERS) as CheckerName[]).filter((name) => names.has(name));
}

/** What a run must have counted for the workloads of these clients to have shown anything. */
export function demandsOf(clients: readonly Pick<ClientPlan, 'workloads'>[], schedule: ScheduleFacts): Expectations {
  const demanded: Partial<Record<CheckerName, Record<string, number>>> = {};
  for (const workload of new Set(clients.flatMap((client) => workloadsOf(client)))) {
    for (const [checker, counts] of Object.entries(workload.demands?.(schedule) ?? {})) {
      const name = checker as CheckerName;
      demanded[name] = { ...demanded[name], ...counts };
    }
  }
  return demanded;
}
