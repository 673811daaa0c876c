/**
 * Every key of the replicated store is a linearizable register: one order explains all answers, in which each write, compare-and-set and
 * delete takes effect while it is under way. So whatever was acknowledged is read later, by the last readings of a run too, unless it was
 * overwritten. And a value has one revision, whoever is told of it.
 */

import { okCallsOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { keyOperations } from '../../history/operations/of-group.ts';
import { casRegister } from '../../models/cas-register.ts';
import type { Model } from '../../models/model.ts';
import { Findings } from '../findings.ts';
import { eventsOf } from '../linearizability/events-of.ts';
import { checkLinearizable, type Result } from '../linearizability/linearizable.ts';
import { partialLinearization } from '../linearizability/partial.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';

const DEFAULT_SEARCH_BUDGET = 5_000_000;
const MODEL: Model<unknown> = casRegister();

type Count = 'keys' | 'operations' | 'unknown' | 'refused' | 'revisions' | 'states' | 'givenUp';

export function checkLinearizableKeys(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings<Count>('linearizable-keys', [
    'keys',
    'operations',
    'unknown',
    'refused',
    'revisions',
    'states',
    'givenUp',
  ]);
  const operations = keyOperations(history);
  const limits = { configurations: options.searchBudget ?? DEFAULT_SEARCH_BUDGET, ms: Number.POSITIVE_INFINITY };
  // A verdict must not depend on how fast the machine is.
  const result = checkLinearizable(operations, MODEL, { limits, nowMs: () => 0 });
  findings.count('keys', result.objects);
  findings.count('operations', result.ok);
  findings.count('unknown', result.open);
  findings.count('refused', operations.filter(({ output }) => output === false).length);
  findings.count('states', result.configurations);
  if (result.type === 'unknown' && result.reason.type === 'exhausted') findings.count('givenUp');
  if (result.type === 'invalid') report(result, findings);
  checkRevisions(history, findings);
  return findings.verdict(result.type === 'valid');
}

function report({ key, found }: Extract<Result, { readonly type: 'invalid' }>, findings: Findings<Count>): void {
  const { stuck, state, prefix } = found;
  const writer = prefix.findLast(({ action }) => !action.observes);
  findings.stuck(
    `key ${key}: no order explains that ${stuck.operation.process} ${stuck.action.text}; it was ${MODEL.describe(state)} then`,
    partialLinearization(`key ${key}`, found, {
      textOf: ({ operation, action }) => `${operation.process} ${action.text}`,
      describe: (each) => MODEL.describe(each),
    }),
    ...eventsOf(writer?.operation),
    ...eventsOf(stuck.operation),
  );
}

/** No two writes of a run have the same value. */
function checkRevisions(history: History, findings: Findings<Count>): void {
  const seen = new Map<string, { readonly revision: number; readonly event: { readonly seq: number } }>();
  for (const { ok } of okCallsOf(history, 'kv-get', 'kv-put')) {
    if (ok.value === null || ok.revision === null) continue;
    const name = JSON.stringify([ok.bucket, ok.key, ok.value]);
    const first = seen.get(name);
    if (first === undefined) {
      findings.count('revisions');
      seen.set(name, { revision: ok.revision, event: ok });
    } else if (first.revision !== ok.revision) {
      findings.broken(
        `key ${ok.bucket}/${ok.key}: the value ${JSON.stringify(ok.value)} has revision ${first.revision}, and then ${ok.revision}`,
        first.event,
        ok,
      );
    }
  }
}
