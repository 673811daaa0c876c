/**
 * The second opinion on locks, from outside: whether one order explains all answers to clients about each lock, by the model of a fenced
 * mutex and the checker that judges other people's histories. It shares nothing with the predicates over the servers' log; where the two
 * disagree, one of them is wrong.
 */

import { Findings } from '../findings.ts';
import { eventsOf } from '../linearizability/events-of.ts';
import { checkLinearizable } from '../linearizability/linearizable.ts';
import { partialLinearization } from '../linearizability/partial.ts';
import { okCallsOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { lockOperations } from '../../history/operations/of-history.ts';
import { describeFenced, fencedMutex, type FencedState } from '../../models/fenced-mutex.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';

const DEFAULT_SEARCH_BUDGET = 200_000;

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
  const limits = { configurations: options.searchBudget ?? DEFAULT_SEARCH_BUDGET, ms: Number.POSITIVE_INFINITY };
  // A verdict must not depend on how fast the machine is.
  const result = checkLinearizable(lockOperations(history), fencedMutex(), { limits, nowMs: () => 0 });
  findings.count('locks', result.objects);
  findings.count('operations', result.ok);
  findings.count('unknown', result.open);
  const statuses = okCallsOf(history, 'status');
  findings.count('statuses', statuses.length);
  findings.count('heldStatuses', statuses.filter(({ ok }) => ok.holder !== null).length);
  findings.count('states', result.configurations);
  if (result.type === 'unknown' && result.reason.type === 'exhausted') findings.count('givenUp');
  if (result.type === 'invalid') {
    const { stuck, state, prefix } = result.found;
    const { operation, action } = stuck;
    const linearization = partialLinearization(`lock ${result.key}`, result.found, {
      textOf: (step) => `session ${step.operation.client} ${step.action.text}`,
      describe: (each) => describeFenced(each as FencedState),
    });
    findings.stuck(
      `lock ${result.key}: no order explains that session ${operation.client} ${action.text}; it was ${describeFenced(state as FencedState)} then`,
      linearization,
      ...eventsOf(prefix.at(-1)?.operation),
      ...eventsOf(operation),
    );
  }
  return findings.verdict(result.type === 'valid');
}
