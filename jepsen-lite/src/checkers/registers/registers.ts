/**
 * Every node is a linearizable register with a version, and every key of the store a plain one: one order explains all answers, in which
 * each operation takes effect while it is under way. Reads of a weaker consistency only have to show something that was written.
 */

import { callsOf, type Call } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { isRegisterPath } from '../../history/register-paths.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { Budget } from '../linearizability/budget.ts';
import { eventsOf } from '../linearizability/events-of.ts';
import { partialLinearization } from '../linearizability/partial.ts';
import { search } from '../linearizability/search.ts';
import { REGISTER, registerStep } from './register-model.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';

const DEFAULT_SEARCH_BUDGET = 200_000;
/** A verdict must not depend on how fast the machine is, and runs are small. */
const OTHER_LIMITS = { bytes: Number.POSITIVE_INFINITY, ms: Number.POSITIVE_INFINITY };

type Count = 'registers' | 'operations' | 'unknown' | 'weakReads' | 'states' | 'givenUp';
type Named = 'create' | 'set' | 'delete' | 'read' | 'put' | 'get';

export function checkRegisters(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings<Count>('registers', [
    'registers',
    'operations',
    'unknown',
    'weakReads',
    'states',
    'givenUp',
  ]);
  const configurations = options.searchBudget ?? DEFAULT_SEARCH_BUDGET;
  const budget = new Budget({ ...OTHER_LIMITS, configurations }, () => 0);
  const calls = callsOf(history, 'create', 'set', 'delete', 'read', 'put', 'get').filter(
    ({ invoke }) => !('path' in invoke) || isRegisterPath(invoke.path),
  );
  for (const [name, ofRegister] of groupBy(calls, nameOf)) {
    findings.count('registers');
    checkWeakReads(name, ofRegister, findings);
    checkRegister(name, ofRegister, budget, findings);
  }
  findings.count('states', budget.configurations);
  return findings.verdict(findings.counted('operations') > 0 && findings.counted('givenUp') === 0);
}

function nameOf({ invoke }: Call<Named>): string {
  return 'path' in invoke ? invoke.path : `${invoke.bucket}/${invoke.key}`;
}

function checkRegister(name: string, calls: readonly Call<Named>[], budget: Budget, findings: Findings<Count>): void {
  const steps = calls.flatMap((call) => registerStep(call) ?? []);
  const unknown = steps.filter(({ operation }) => operation.returnedAt === Number.POSITIVE_INFINITY).length;
  findings.count('operations', steps.length - unknown);
  findings.count('unknown', unknown);
  const outcome = search(REGISTER, steps, budget);
  if (outcome.type === 'exhausted') findings.count('givenUp');
  if (outcome.type === 'impossible') {
    const { stuck, state, prefix } = outcome;
    const writer = prefix.findLast(({ action }) => !action.observes);
    findings.stuck(
      `${name}: no order explains that ${stuck.action.text}; the register was ${REGISTER.describe(state)} then`,
      partialLinearization(name, outcome, {
        textOf: ({ action }) => action.text,
        describe: (each) => REGISTER.describe(each),
      }),
      ...eventsOf(writer?.operation),
      ...eventsOf(stuck.operation),
    );
  }
}

function checkWeakReads(name: string, calls: readonly Call<Named>[], findings: Findings<Count>): void {
  const written = new Map<string, number>();
  for (const { invoke, completion } of calls) {
    if ('value' in invoke && completion?.type !== 'fail' && !written.has(invoke.value)) {
      written.set(invoke.value, invoke.seq);
    }
  }
  for (const { completion } of calls) {
    if (completion?.type !== 'ok' || completion.f !== 'read' || completion.consistency === 'linearizable') continue;
    findings.count('weakReads');
    const { value } = completion;
    if (value !== null && (written.get(value) ?? Number.POSITIVE_INFINITY) > completion.seq) {
      reportUnwritten(name, value, completion, findings);
    }
  }
}

function reportUnwritten(name: string, value: string, event: HistoryEvent, findings: Findings<Count>): void {
  findings.broken(`${name}: a read shows ${JSON.stringify(value)}, which nobody has written`, event);
}
