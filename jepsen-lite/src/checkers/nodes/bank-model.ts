/**
 * A bank as one object: all its nodes but the entries of its book, with their data and versions. A transaction does all its operations, each
 * of which sees those before it, or is refused because of the first that cannot be done.
 */

import { bookPath, isAccount } from '../../history/banks.ts';
import type { Call, CompletionOf, InvokeOf } from '../../history/calls.ts';
import type { TransactionStep } from '../../history/history.ts';
import type { Action, States } from '../../models/model.ts';
import { operationOf, type Step } from '../linearizability/step.ts';

interface Node {
  readonly value: string;
  readonly version: number;
}

/** By path; an entry of the book is none of them. */
type BankState = ReadonlyMap<string, Node>;

export const BANK: States<BankState> = {
  initial: new Map(),
  keyOf: (state) => JSON.stringify([...state].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  describe: (state) => {
    const accounts = [...state].filter(([path]) => isAccount(path));
    return accounts
      .map(([path, { value, version }]) => `${path} ${JSON.stringify(value)} (version ${version})`)
      .join(', ');
  },
};

export type BankCall = Call<'transaction' | 'read'>;
type Meaning = Pick<Action<BankState>, 'observes' | 'step'>;

/** Undefined for a call that says nothing: an unanswered read, or one that was refused for other reasons than the state. */
export function bankStep(call: BankCall, bank: string): Step<BankState> | undefined {
  const { invoke, completion } = call;
  const meaning =
    invoke.f === 'read'
      ? meaningOfRead(invoke, completion as CompletionOf<'read'> | undefined)
      : meaningOfTransaction(invoke, completion as CompletionOf<'transaction'> | undefined, bank);
  if (meaning === undefined) return undefined;
  const operation = operationOf({ invoke, completion });
  const text = `call ${invoke.call} of ${invoke.process} (${invoke.f}) was answered ${answerText(completion)}`;
  return { operation, action: { ...meaning, text, same: String(invoke.call) } };
}

function answerText(completion: BankCall['completion']): string {
  if (completion === undefined) return 'nothing';
  if (completion.type !== 'ok') return `${completion.code} at operation ${completion.place ?? 0}`;
  return completion.f === 'read' ? JSON.stringify(completion.value) : `at index ${completion.index}`;
}

function meaningOfRead({ path }: InvokeOf<'read'>, completion: CompletionOf<'read'> | undefined): Meaning | undefined {
  if (completion?.type !== 'ok') return undefined;
  const { value, version } = completion;
  return observation((state) => {
    const node = state.get(path);
    return (node?.value ?? null) === value && (value === null || version === node?.version);
  });
}

function meaningOfTransaction(
  { operations }: InvokeOf<'transaction'>,
  completion: CompletionOf<'transaction'> | undefined,
  bank: string,
): Meaning | undefined {
  if (completion?.type === 'fail') {
    const { place, code } = completion;
    if (place === undefined) return undefined;
    return observation((state) => {
      const outcome = outcomeOf(state, operations, bank);
      return 'place' in outcome && outcome.place === place && outcome.code === code;
    });
  }
  const answer = completion?.type === 'ok' ? completion : undefined;
  const step = (state: BankState): BankState | undefined => {
    const outcome = outcomeOf(state, operations, bank);
    if ('place' in outcome) return undefined;
    const fits = outcome.results.every((result, at) => result === undefined || result === answer?.results[at]);
    return answer === undefined || fits ? outcome.state : undefined;
  };
  const observes = operations.every(({ op }) => op === 'check');
  // A check of unknown outcome says nothing.
  if (observes && answer === undefined) return undefined;
  return { observes, step };
}

function observation(fits: (state: BankState) => boolean): Meaning {
  return { observes: true, step: (state) => (fits(state) ? state : undefined) };
}

type BankOutcome =
  /** Undefined: the number of an entry, of which the book tells. */
  | { readonly state: BankState; readonly results: readonly (number | string | null | undefined)[] }
  | { readonly place: number; readonly code: string };

function outcomeOf(state: BankState, operations: readonly TransactionStep[], bank: string): BankOutcome {
  const nodes = new Map(state);
  const results: (number | string | null | undefined)[] = [];
  for (const [place, operation] of operations.entries()) {
    const code = refusal(nodes, operation, bank);
    if (code !== undefined) return { place, code };
    results.push(done(nodes, operation));
  }
  return { state: operations.every(({ op }) => op === 'check') ? state : nodes, results };
}

function refusal(nodes: BankState, operation: TransactionStep, bank: string): string | undefined {
  const { op, path } = operation;
  const node = nodes.get(path);
  if (op === 'create') {
    const parent = operation.sequential === true ? bookPath(bank) : bank;
    if (path !== bank && !nodes.has(parent)) return 'NOT_FOUND';
    return node === undefined ? undefined : 'NODE_EXISTS';
  }
  if (node === undefined) return 'NOT_FOUND';
  return node.version === operation.version ? undefined : 'BAD_VERSION';
}

function done(nodes: Map<string, Node>, operation: TransactionStep): number | string | null | undefined {
  const { path } = operation;
  switch (operation.op) {
    case 'check':
      return null;
    case 'create':
      if (operation.sequential === true) return undefined;
      nodes.set(path, { value: operation.value, version: 0 });
      return path;
    case 'set':
      nodes.set(path, { value: operation.value, version: operation.version + 1 });
      return operation.version + 1;
    case 'remove':
      nodes.delete(path);
      return null;
  }
}
