/** A result in words. */

import { DEFAULT_LIMITS, type Counts, type Reason, type Result } from '../checkers/linearizability/linearizable.ts';
import type { Limits } from '../checkers/linearizability/budget.ts';
import type { Impossible } from '../checkers/linearizability/search.ts';
import type { Step } from '../checkers/linearizability/step.ts';
import type { Model } from '../models/model.ts';

/** Of a long prefix its end tells enough. */
const SHOWN_OF_PREFIX = 10;
const SHOWN_CONCURRENT = 10;
const MEBIBYTE = 1 << 20;

export function renderResult(result: Result, model: Model<unknown>, limits: Partial<Limits> = {}): string {
  switch (result.type) {
    case 'valid':
      return `valid\n  one order explains ${counted(result)}\n`;
    case 'invalid':
      return `invalid\n${renderImpossible(result.found, result.key, model)}`;
    case 'unknown':
      return `unknown\n  ${renderReason(result.reason, { ...DEFAULT_LIMITS, ...limits })}; looked at ${counted(result)}\n`;
  }
}

function counted({ ok, open, objects, configurations }: Counts): string {
  const unknown = open === 0 ? '' : ` and ${many(open)} of unknown outcome`;
  return `${many(ok)} operations that succeeded${unknown}, of ${many(objects)} ${objects === 1 ? 'object' : 'objects'}, in ${many(configurations)} configurations`;
}

function renderImpossible(found: Impossible<unknown>, key: string | undefined, model: Model<unknown>): string {
  const { stuck, prefix, state, concurrent, explained, returns } = found;
  const lines = [
    `${key === undefined ? 'no order explains it' : `key ${key}: no order explains it`}; the longest prefix has ${many(explained)} of ${many(returns)} returns`,
    `cannot be linearized: ${describe(stuck)}`,
    `the state was then:   ${model.describe(state)}`,
  ];
  if (concurrent.length > 0) {
    lines.push('beside it, not yet linearized:');
    for (const step of concurrent.slice(0, SHOWN_CONCURRENT)) lines.push(`  ${describe(step)}`);
    if (concurrent.length > SHOWN_CONCURRENT) lines.push(`  … and ${concurrent.length - SHOWN_CONCURRENT} more`);
  }
  lines.push(prefix.length === 0 ? 'nothing comes before it' : 'the longest prefix, in its order:');
  if (prefix.length > SHOWN_OF_PREFIX) lines.push(`  … ${many(prefix.length - SHOWN_OF_PREFIX)} before`);
  for (const step of prefix.slice(-SHOWN_OF_PREFIX)) lines.push(`  ${describe(step)}`);
  return lines.map((line) => `  ${line}\n`).join('');
}

function describe({ operation, action }: Step<unknown>): string {
  const { process, client, line, returnedAt } = operation;
  const who = client === process ? `process ${process}` : `${client} (process ${process})`;
  const open = returnedAt === Number.POSITIVE_INFINITY ? ', of which nobody was notified' : '';
  return `line ${line}: ${who} ${action.text}${open}`;
}

function renderReason(reason: Reason, limits: Limits): string {
  if (reason.type === 'nothing-succeeded') return 'nothing in this history succeeded, so there is nothing to check';
  const { budget, key, explained, returns, objectsLeft } = reason;
  const which = {
    ms: `the time is over (--seconds ${limits.ms / 1_000})`,
    configurations: `the configurations are used up (--configurations ${limits.configurations})`,
    bytes: `the memory is used up (--memory ${Math.round(limits.bytes / MEBIBYTE)})`,
  }[budget];
  const where = key === undefined ? '' : ` of key ${key}`;
  const others = objectsLeft > 1 ? `, and ${many(objectsLeft - 1)} more objects have no answer` : '';
  return `${which}: the search explained ${many(explained)} of ${many(returns)} returns${where}${others}`;
}

function many(count: number): string {
  return count.toLocaleString('en');
}
