/**
 * The book of a bank: its entries are the transfers that were made, each once, and none that failed. Nobody deletes one, so that a list shows
 * the numbers from 0 without a gap: a transaction that failed has used none.
 */

import { parseEntry } from '../../history/banks.ts';
import type { OkCall } from '../../history/calls.ts';
import type { TransactionCall, TransactionFindings } from './transaction-findings.ts';

interface Entry {
  readonly call: TransactionCall;
  /** As it was named; undefined where nobody was told that it was made. */
  readonly name: string | undefined;
  readonly index: number | undefined;
}

export function checkBook(
  transactions: readonly TransactionCall[],
  lists: readonly OkCall<'list'>[],
  findings: TransactionFindings,
): void {
  const entries = new Map<string, Entry>();
  for (const call of transactions) {
    const entry = entryOf(call);
    if (entry !== undefined) entries.set(entry.prefix, entry);
  }
  checkNumbers([...entries.values()], findings);
  for (const { invoke, ok } of lists) {
    findings.count('books');
    const numbers = new Map<string, number>();
    for (const name of ok.names ?? []) {
      const parts = parseEntry(name);
      const entry = entries.get(parts?.prefix ?? '');
      if (parts === undefined || entry === undefined || entry.call.invoke.seq > ok.seq) {
        findings.broken(`the book has "${name}", which nobody has made`, ok);
        continue;
      }
      const { completion } = entry.call;
      if (completion?.type === 'fail') {
        findings.broken(`call ${completion.call} failed, and left "${name}"`, entry.call.invoke, completion, ok);
      }
      if (numbers.has(parts.prefix)) {
        findings.broken(
          `call ${entry.call.invoke.call} was done twice: the book has "${name}", too`,
          entry.call.invoke,
          ok,
        );
      }
      numbers.set(parts.prefix, parts.number);
    }
    const sorted = [...numbers.values()].toSorted((a, b) => a - b);
    const gap = sorted.findIndex((number, at) => number !== at);
    if (gap !== -1) findings.broken(`the book has ${sorted.length} entries, and none of the number ${gap}`, ok);
    checkComplete([...entries], numbers, { invoke, ok }, findings);
  }
}

/** Whatever had been acknowledged is in it. */
function checkComplete(
  entries: readonly (readonly [string, Entry])[],
  numbers: ReadonlyMap<string, number>,
  { invoke, ok }: OkCall<'list'>,
  findings: TransactionFindings,
): void {
  for (const [prefix, { call, name }] of entries) {
    const { completion } = call;
    if (completion?.type !== 'ok' || completion.seq > invoke.seq || name === undefined) continue;
    findings.count('entries');
    if (numbers.get(prefix) === parseEntry(name)?.number) continue;
    findings.broken(`call ${completion.call} made "${name}", and the book does not have it`, completion, ok);
  }
}

/** In the order of the indexes. */
function checkNumbers(entries: readonly Entry[], findings: TransactionFindings): void {
  const known = entries.flatMap(({ call, name, index }) => {
    const number = name === undefined ? undefined : parseEntry(name)?.number;
    return number === undefined || index === undefined ? [] : [{ call, number, index }];
  });
  known.sort((a, b) => a.index - b.index);
  for (const [at, { call, number, index }] of known.entries()) {
    const before = known[at - 1];
    if (before === undefined || before.number < number) continue;
    findings.broken(
      `the entry at index ${index} has the number ${number}, and the one at ${before.index} has ${before.number}`,
      before.call.completion,
      call.completion,
    );
  }
}

function entryOf(call: TransactionCall): (Entry & { readonly prefix: string }) | undefined {
  const { invoke, completion } = call;
  const place = invoke.operations.findIndex((step) => step.op === 'create' && step.sequential === true);
  const step = invoke.operations[place];
  if (step === undefined) return undefined;
  const prefix = lastName(step.path);
  if (completion?.type !== 'ok' || completion.f !== 'transaction')
    return { prefix, call, name: undefined, index: undefined };
  const made = completion.results[place];
  return { prefix, call, name: typeof made === 'string' ? lastName(made) : undefined, index: completion.index };
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
