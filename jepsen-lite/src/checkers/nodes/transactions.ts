/**
 * A transaction does all of its operations at one index, or none. Direct predicates first: the indexes follow real time; what one that failed
 * would have written nobody ever sees; what one has written nobody else has; all accounts that were checked at one index have together what
 * they began with; the books name exactly the transfers that were made, numbered without a gap in the order of their indexes. Then, as a
 * second opinion, each bank is searched for one order that explains all answers.
 */

import { amountOf, ACCOUNTS, bankOf, bookPath, isAccount, OPENING_AMOUNT } from '../../history/banks.ts';
import { callsOf, okCallsOf, type OkCall } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { Budget } from '../linearizability/budget.ts';
import { eventsOf } from '../linearizability/events-of.ts';
import { partialLinearization } from '../linearizability/partial.ts';
import { search } from '../linearizability/search.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';
import { BANK, bankStep, type BankCall } from './bank-model.ts';
import { checkBook } from './books.ts';
import { TRANSACTION_COUNTS, type TransactionCall, type TransactionFindings } from './transaction-findings.ts';

const DEFAULT_SEARCH_BUDGET = 200_000;
/** A verdict must not depend on how fast the machine is, and runs are small. */
const OTHER_LIMITS = { bytes: Number.POSITIVE_INFINITY, ms: Number.POSITIVE_INFINITY };

export function checkTransactions(history: History, options: CheckOptions = {}): Verdict {
  const findings: TransactionFindings = new Findings('transactions', TRANSACTION_COUNTS);
  const configurations = options.searchBudget ?? DEFAULT_SEARCH_BUDGET;
  const budget = new Budget({ ...OTHER_LIMITS, configurations }, () => 0);
  const calls = callsOf(history, 'transaction', 'read').filter((call) => bankOfCall(call) !== undefined);
  const lists = groupBy(okCallsOf(history, 'list'), ({ invoke }) => invoke.path);
  checkIndexes(okCallsOf(history, 'transaction'), findings);
  for (const [bank, ofBank] of groupBy(calls, (call) => bankOfCall(call) ?? '')) {
    findings.count('banks');
    const transactions = ofBank.filter(({ invoke }) => invoke.f === 'transaction') as unknown as TransactionCall[];
    countOutcomes(transactions, findings);
    const values = checkValues(ofBank, transactions, findings);
    checkAudits(transactions, values, findings);
    checkBook(transactions, lists.get(bookPath(bank)) ?? [], findings);
    checkOrder(bank, ofBank, budget, findings);
  }
  findings.count('states', budget.configurations);
  return findings.verdict(findings.counted('done') > 0 && findings.counted('givenUp') === 0);
}

function bankOfCall({ invoke }: BankCall): string | undefined {
  return bankOf(invoke.f === 'read' ? invoke.path : (invoke.operations[0]?.path ?? ''));
}

function countOutcomes(transactions: readonly TransactionCall[], findings: TransactionFindings): void {
  for (const { completion } of transactions) {
    if (completion?.type === 'ok') findings.count('done');
    else if (completion?.type === 'fail') findings.count('refused');
    else findings.count('unknown');
  }
}

/** One entry is one transaction, and later ones are behind it. */
function checkIndexes(done: readonly OkCall<'transaction'>[], findings: TransactionFindings): void {
  const answered = done.toSorted((a, b) => a.ok.seq - b.ok.seq);
  const byIndex = new Map<number, OkCall<'transaction'>>();
  let next = 0;
  let highest: OkCall<'transaction'> | undefined;
  for (const each of done) {
    for (
      let before = answered[next];
      before !== undefined && before.ok.seq < each.invoke.seq;
      before = answered[next]
    ) {
      if (highest === undefined || before.ok.index > highest.ok.index) highest = before;
      next += 1;
    }
    const twin = byIndex.get(each.ok.index);
    byIndex.set(each.ok.index, each);
    if (twin !== undefined) findings.broken(`two transactions were done at index ${each.ok.index}`, twin.ok, each.ok);
    if (highest === undefined || each.ok.index > highest.ok.index) continue;
    findings.broken(
      `call ${each.invoke.call} was done at index ${each.ok.index}, and ${highest.ok.index} had been answered before it was asked`,
      highest.ok,
      each.invoke,
      each.ok,
    );
  }
}

/** Answers what each version of an account is, as far as transactions that were done and reads tell. */
function checkValues(
  calls: readonly BankCall[],
  transactions: readonly TransactionCall[],
  findings: TransactionFindings,
): Map<string, string> {
  const writers = new Map<string, TransactionCall>();
  for (const call of transactions) {
    for (const step of call.invoke.operations) if ('value' in step) writers.set(`${step.path} ${step.value}`, call);
  }
  const values = new Map<string, string>();
  const shown = new Map<string, { readonly seq: number }>();
  const show = (path: string, version: number, value: string, event: { readonly seq: number }): void => {
    const key = `${path} ${version}`;
    const known = values.get(key);
    if (known === undefined) {
      values.set(key, value);
      shown.set(key, event);
    } else if (known !== value) {
      findings.broken(`version ${version} of "${path}" is "${known}", and "${value}", too`, shown.get(key), event);
    }
  };
  for (const { invoke, completion } of transactions) {
    if (completion?.type !== 'ok') continue;
    for (const step of invoke.operations) {
      if (!isAccount(step.path)) continue;
      if (step.op === 'set') show(step.path, step.version + 1, step.value, completion);
      else if (step.op === 'create') show(step.path, 0, step.value, completion);
    }
  }
  for (const { completion } of calls) {
    if (completion?.type !== 'ok' || completion.f !== 'read' || completion.value === null) continue;
    const { path, value, version } = completion;
    const writer = writers.get(`${path} ${value}`);
    if (writer === undefined || writer.invoke.seq > completion.seq) {
      findings.broken(`"${path}" is "${value}", which nobody has written`, completion);
    } else if (writer.completion?.type === 'fail') {
      const what = `call ${writer.invoke.call} failed, and its "${value}" is in "${path}"`;
      findings.broken(what, writer.invoke, writer.completion, completion);
    }
    if (version !== undefined && isAccount(path)) show(path, version, value, completion);
  }
  return values;
}

/** Versions that were all checked at one index. */
function checkAudits(
  transactions: readonly TransactionCall[],
  values: ReadonlyMap<string, string>,
  findings: TransactionFindings,
): void {
  for (const { invoke, completion } of transactions) {
    const { operations } = invoke;
    if (completion?.type !== 'ok' || operations.length !== ACCOUNTS || operations.some(({ op }) => op !== 'check'))
      continue;
    const found = operations.map((step) =>
      'version' in step ? values.get(`${step.path} ${step.version}`) : undefined,
    );
    findings.count('audits');
    const sum = found.reduce((total, value) => total + (value === undefined ? Number.NaN : amountOf(value)), 0);
    if (sum === ACCOUNTS * OPENING_AMOUNT) continue;
    findings.broken(
      `at index ${completion.index} all accounts together have ${sum}, and began with ${ACCOUNTS * OPENING_AMOUNT}: ${found.join(', ')}`,
      invoke,
      completion,
    );
  }
}

function checkOrder(bank: string, calls: readonly BankCall[], budget: Budget, findings: TransactionFindings): void {
  const steps = calls.flatMap((call) => bankStep(call, bank) ?? []);
  const outcome = search(BANK, steps, budget);
  if (outcome.type === 'exhausted') findings.count('givenUp');
  if (outcome.type !== 'impossible') return;
  const { stuck, state, prefix } = outcome;
  const writer = prefix.findLast(({ action }) => !action.observes);
  findings.stuck(
    `${bank}: no order explains that ${stuck.action.text}; the accounts were ${BANK.describe(state)} then`,
    partialLinearization(bank, outcome, {
      textOf: ({ action }) => action.text,
      describe: (each) => BANK.describe(each),
    }),
    ...eventsOf(writer?.operation),
    ...eventsOf(stuck.operation),
  );
}
