/**
 * Every node is a linearizable register with a version, and every key of the store a plain one: one order explains all answers, in which
 * each operation takes effect while it is under way. Reads of a weaker consistency only have to show something that was written.
 */

import { callsOf, type Call } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { linearize } from './linearize.ts';
import { registerOperation, type RegisterCall, type RegisterState } from './register-model.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';

const DEFAULT_SEARCH_BUDGET = 200_000;
const ABSENT: RegisterState = { value: null, version: 0 };

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
  let budget = options.searchBudget ?? DEFAULT_SEARCH_BUDGET;
  const calls = callsOf(history, 'create', 'set', 'delete', 'read', 'put', 'get');
  for (const [name, ofRegister] of groupBy(calls, nameOf)) {
    findings.count('registers');
    checkWeakReads(name, ofRegister, findings);
    budget -= checkRegister(name, ofRegister, budget, findings);
  }
  return findings.verdict(findings.counted('operations') > 0 && findings.counted('givenUp') === 0);
}

function nameOf({ invoke }: Call<Named>): string {
  return 'path' in invoke ? invoke.path : `${invoke.bucket}/${invoke.key}`;
}

/** Returns how many states it took. */
function checkRegister(name: string, calls: readonly Call<Named>[], budget: number, findings: Findings<Count>): number {
  const operations = calls.flatMap((call) => registerOperation(call) ?? []);
  const unknown = operations.filter((operation) => operation.returnedAt === Number.POSITIVE_INFINITY).length;
  findings.count('operations', operations.length - unknown);
  findings.count('unknown', unknown);
  const outcome = linearize<RegisterState, RegisterCall>(
    operations,
    ABSENT,
    (state) => `${state.version} ${JSON.stringify(state.value)}`,
    budget,
  );
  findings.count('states', outcome.visited);
  if (outcome.type === 'givenUp') findings.count('givenUp');
  if (outcome.type === 'impossible') {
    const { stuck, state, writer } = outcome;
    findings.broken(
      `${name}: no order explains that ${stuck.text}; the register was ${describe(state)} then`,
      ...(writer?.events ?? []),
      ...stuck.events,
    );
  }
  return outcome.visited;
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

function describe({ value, version }: RegisterState): string {
  return value === null ? 'absent' : `${JSON.stringify(value)} (version ${version})`;
}
