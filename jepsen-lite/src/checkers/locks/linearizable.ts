/**
 * The second opinion on locks, from outside: whether one order explains all answers to clients about each lock, by the model of
 * its kind and the checker that judges other people's histories. It shares nothing with the predicates over the servers' log; where the two
 * disagree, one of them is wrong.
 */

import { Findings } from '../findings.ts';
import { eventsOf } from '../linearizability/events-of.ts';
import { checkLinearizable } from '../linearizability/linearizable.ts';
import { partialLinearization } from '../linearizability/partial.ts';
import { MUTEX, type LockRequest } from '@holdfast/protocol';
import { callsOf, okCallsOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { lockKindsOf, lockOperations } from '../../history/operations/of-history.ts';
import { fencedMutex } from '../../models/fenced-mutex.ts';
import type { Model } from '../../models/model.ts';
import { reentrantMutex } from '../../models/reentrant-mutex.ts';
import { readWriteMutex } from '../../models/rw-mutex.ts';
import { semaphore } from '../../models/semaphore.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';

const DEFAULT_SEARCH_BUDGET = 200_000;

type KindName = LockRequest['type'];

/** What is known of the requests of a kind's locks is the same for all of them. */
const MODELS: { readonly [K in KindName]: (request: Extract<LockRequest, { readonly type: K }>) => Model<unknown> } = {
  mutex: () => fencedMutex(),
  readWrite: () => readWriteMutex(),
  semaphore: ({ permits }) => semaphore(permits),
  reentrant: ({ limit }) => reentrantMutex(limit),
};

export function checkLinearizableLocks(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings('linearizable-locks', [
    'locks',
    'operations',
    'unknown',
    'statuses',
    'heldStatuses',
    'states',
    'givenUp',
  ]);
  const statuses = okCallsOf(history, 'status');
  findings.count('statuses', statuses.length);
  findings.count('heldStatuses', statuses.filter(({ ok }) => ok.holder !== null).length);
  const kinds = lockKindsOf(history);
  const results = [...(kinds.size === 0 ? (['mutex'] as const) : kinds)].map((kind) =>
    checkKind(history, kind, findings, options),
  );
  return findings.verdict(results.every((valid) => valid));
}

function checkKind(
  history: History,
  kind: KindName,
  findings: Findings<'locks' | 'operations' | 'unknown' | 'states' | 'givenUp'>,
  options: CheckOptions,
): boolean {
  const limits = { configurations: options.searchBudget ?? DEFAULT_SEARCH_BUDGET, ms: Number.POSITIVE_INFINITY };
  const model = modelOf(history, kind);
  // A verdict must not depend on how fast the machine is.
  const result = checkLinearizable(lockOperations(history, kind), model, { limits, nowMs: () => 0 });
  findings.count('locks', result.objects);
  findings.count('operations', result.ok);
  findings.count('unknown', result.open);
  findings.count('states', result.configurations);
  if (result.type === 'unknown' && result.reason.type === 'exhausted') findings.count('givenUp');
  if (result.type === 'invalid') {
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
  return result.type === 'valid';
}

function modelOf(history: History, kind: KindName): Model<unknown> {
  const requests = callsOf(history, 'acquire').map(({ invoke }) => invoke.asked ?? MUTEX);
  const request = requests.find(({ type }) => type === kind) ?? MUTEX;
  return (MODELS[request.type] as (asked: LockRequest) => Model<unknown>)(request);
}
