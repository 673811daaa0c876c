/**
 * The listing of deadlocks, and what one wait waits for. What was found in slices is looked at once more when the listing is answered: so whatever it
 * lists is there at that moment, and what was there all the time is listed.
 */

import {
  MAX_UTF8_BYTES_PER_UNIT,
  type Answer,
  type Deadlock,
  type DeadlockStep,
  type Query,
  type QueueEntry,
} from '@holdfast/protocol';

import { lockProblem } from '../locks/lock-name.ts';
import type { QueuedAcquire } from '../locks/lock.ts';
import { WaitGraph } from '../locks/wait-graph.ts';
import { invalidLockReply } from '../replies.ts';
import type { State } from '../state.ts';
import { queueEntry } from './locks.ts';
import { pageSize } from './page.ts';

/** Numbers and heads of one step in an answer, at most. */
const STEP_OVERHEAD_BYTES = 64;
/** Those who hold the lock for which somebody waits. */
const MAX_HOLDERS = 16;

export function deadlocks(state: State, query: Extract<Query, { type: 'deadlocks' }>): Answer {
  const { found, skipped } = state.deadlocks.take(query, state.limits);
  const inOrder = found.toSorted((left, right) => left.acquireIndex - right.acquireIndex);
  const listed: Deadlock[] = [];
  let bytes = 0;
  for (const wait of inOrder) {
    const steps = wait.gone || wait.token !== 0 ? undefined : ringOf(state, wait, 'older');
    if (steps === undefined) continue;
    bytes += steps.reduce((sum, step) => sum + stepBytes(step), 0);
    const tooLong = bytes > state.limits.maxChildrenBytes && listed.length > 0;
    if (tooLong || listed.length === pageSize(query.limit))
      return { type: 'deadlocks', deadlocks: listed, more: true, skipped };
    listed.push({ steps });
  }
  return { type: 'deadlocks', deadlocks: listed, more: false, skipped };
}

export function waitingFor(state: State, { lock: name, acquireIndex }: Extract<Query, { type: 'waitingFor' }>): Answer {
  const problem = lockProblem(name);
  if (problem !== undefined) return invalidLockReply(name, problem);
  const lock = state.locks.get(name);
  const holders: QueueEntry[] = [];
  for (const holder of lock?.holders ?? []) {
    if (holders.length === MAX_HOLDERS) break;
    holders.push(queueEntry(state, holder));
  }
  let before = 0;
  for (const wait of lock?.waiters ?? []) {
    if (wait.acquireIndex === acquireIndex) {
      const steps = ringOf(state, wait.lead, 'all') ?? [];
      return { type: 'waitingFor', holders, before, since: state.nodes.ctime(wait.node), deadlock: steps };
    }
    before += 1;
  }
  return { type: 'waitingFor', holders, before: 0, since: 0, deadlock: [] };
}

/** The shortest one that a wait is in. */
function ringOf(state: State, wait: QueuedAcquire, among: 'all' | 'older'): DeadlockStep[] | undefined {
  return new WaitGraph(state.limits.maxDeadlockVisits).ringFrom(wait, among)?.deadlock(state.nodes);
}

function stepBytes({ label, holds, waitsFor }: DeadlockStep): number {
  return STEP_OVERHEAD_BYTES + (label.length + holds.length + waitsFor.length) * MAX_UTF8_BYTES_PER_UNIT;
}
