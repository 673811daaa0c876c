/**
 * The second opinion on locks, from outside: whether one order explains all answers to clients about each lock, by the model of its kind and
 * the checker that judges other people's histories. It shares nothing with the predicates over the servers' log; where the two
 * disagree, one of them is wrong.
 */

import { Findings } from '../findings.ts';
import { eventsOf } from '../linearizability/events-of.ts';
import { checkLinearizable, type Result } from '../linearizability/linearizable.ts';
import { partialLinearization } from '../linearizability/partial.ts';
import { okCallsOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import {
  entryOperations,
  limitsOf,
  lockOperations,
  readWriteOperations,
  semaphoreOperations,
} from '../../history/operations/of-locks.ts';
import type { Operation } from '../../history/operations/operation.ts';
import { fencedMutex } from '../../models/fenced-mutex.ts';
import { isAnswer } from '../../models/index.ts';
import type { Model } from '../../models/model.ts';
import { reentrantMutex } from '../../models/reentrant-mutex.ts';
import { readWriteMutex } from '../../models/rw-mutex.ts';
import { semaphore } from '../../models/semaphore.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';

const DEFAULT_SEARCH_BUDGET = 200_000;

type Count = 'locks' | 'operations' | 'unknown' | 'statuses' | 'heldStatuses' | 'states' | 'givenUp';

/** The locks of one kind. */
interface Locks {
  readonly operations: readonly Operation[];
  readonly model: Model<unknown>;
}

export function checkLinearizableLocks(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings<Count>('linearizable-locks', [
    'locks',
    'operations',
    'unknown',
    'statuses',
    'heldStatuses',
    'states',
    'givenUp',
  ]);
  const limits = { configurations: options.searchBudget ?? DEFAULT_SEARCH_BUDGET, ms: Number.POSITIVE_INFINITY };
  const statuses = okCallsOf(history, 'status');
  findings.count('statuses', statuses.length);
  findings.count('heldStatuses', statuses.filter(({ ok }) => ok.holder !== null).length);
  const verdicts: Result['type'][] = [];
  for (const locks of locksOf(history)) {
    // A verdict must not depend on how fast the machine is.
    const result = checkLinearizable(locks.operations, locks.model, { limits, nowMs: () => 0 });
    report(result, locks.model, findings);
    verdicts.push(result.type);
  }
  return findings.verdict(verdicts.length > 0 && verdicts.every((type) => type === 'valid'));
}

/** By kind, those of which something was answered. */
function locksOf(history: History): readonly Locks[] {
  const locks: readonly Locks[] = [
    { operations: lockOperations(history), model: fencedMutex() },
    { operations: readWriteOperations(history), model: readWriteMutex() },
    ...byLimit(history, semaphoreOperations(history), semaphore),
    ...byLimit(history, entryOperations(history), reentrantMutex),
  ];
  return locks.filter(({ operations }) => operations.some(isAnswer));
}

function byLimit(
  history: History,
  operations: readonly Operation[],
  modelOf: (limit: number) => Model<unknown>,
): readonly Locks[] {
  const limits = limitsOf(history);
  const found = new Set(operations.flatMap(({ key }) => (key === undefined ? [] : (limits.get(key) ?? []))));
  return [...found].map((limit) => ({
    // The ends of sessions concern all of them.
    operations: operations.filter(({ key }) => key === undefined || limits.get(key) === limit),
    model: modelOf(limit),
  }));
}

function report(result: Result, model: Model<unknown>, findings: Findings<Count>): void {
  findings.count('locks', result.objects);
  findings.count('operations', result.ok);
  findings.count('unknown', result.open);
  findings.count('states', result.configurations);
  if (result.type === 'unknown' && result.reason.type === 'exhausted') findings.count('givenUp');
  if (result.type !== 'invalid') return;
  const { stuck, state, prefix } = result.found;
  const { operation, action } = stuck;
  const linearization = partialLinearization(`lock ${result.key}`, result.found, {
    textOf: (step) => `session ${step.operation.client} ${step.action.text}`,
    describe: (each) => model.describe(each),
  });
  findings.stuck(
    `lock ${result.key}: no order explains that session ${operation.client} ${action.text}; it was ${model.describe(state)} then`,
    linearization,
    ...eventsOf(prefix.at(-1)?.operation),
    ...eventsOf(operation),
  );
}
