import { describe, expect, it } from 'vitest';

import { checkTransactions } from '../../../src/checkers/nodes/transactions.ts';
import type { HistoryEvent, TransactionStep } from '../../../src/history/history.ts';
import type { Verdict } from '../../../src/checkers/verdict.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked } from '../../support/story.ts';

const BANK = '/bank-0';
const account = (number: number): string => `${BANK}/account-${number}`;
const ACCOUNTS = [0, 1, 2, 3];

const pay = (number: number, value: string, version = 0): TransactionStep => {
  return { op: 'set', path: account(number), value, version };
};
const check = (number: number, version = 0): TransactionStep => ({ op: 'check', path: account(number), version });
const entry = (call: number): TransactionStep => {
  return { op: 'create', path: `${BANK}/book/e${call}-`, value: '', sequential: true };
};
const made = (call: number, number: number): string => `${BANK}/book/e${call}-${String(number).padStart(10, '0')}`;

class Bank extends Story {
  open(): void {
    const node = (path: string, value: string): TransactionStep => ({ op: 'create', path, value });
    const paths = [BANK, ...ACCOUNTS.map(account), `${BANK}/book`];
    const steps = paths.map((path) => node(path, path.includes('account') ? '100 1' : ''));
    this.transact(steps).ok({ index: this.nextIndex(), results: paths });
  }

  transact(operations: readonly TransactionStep[], process = 'c1'): Asked {
    return this.ask({ f: 'transaction', operations }, process);
  }

  /** From the first account to the second one, at their first versions. */
  move(): { readonly steps: readonly TransactionStep[]; readonly results: readonly (string | number | null)[] } {
    return { steps: [entry(7), pay(0, '90 7'), pay(1, '110 7'), check(2)], results: [made(7, 0), 1, 1, null] };
  }

  read(number: number, value: string, version: number): HistoryEvent {
    return this.ask({ f: 'read', path: account(number), consistency: 'linearizable' }).ok({ value, version });
  }

  list(...names: readonly string[]): HistoryEvent {
    return this.ask({ f: 'list', path: `${BANK}/book` }).ok({ names });
  }
}

function begun(): Bank {
  const story = new Bank();
  story.open();
  return story;
}

function moved(): Bank {
  const story = begun();
  const { steps, results } = story.move();
  story.transact(steps).ok({ index: story.nextIndex(), results });
  return story;
}

/** Whatever else says so, too. */
function expectAmong({ valid, broken }: Verdict, words: RegExp): void {
  expect(valid).toBe(false);
  expect(broken.map(({ message }) => message)).toContainEqual(expect.stringMatching(words));
}

describe('transactions', () => {
  it('do all or nothing, and a bank has what it began with', () => {
    const story = moved();
    story.read(0, '90 7', 1);
    story.transact([check(0, 1), check(1, 1), check(2), check(3)]).ok({ index: 20, results: [null, null, null, null] });
    story.transact([entry(8), pay(0, '80 8', 1), pay(1, '120 8', 0)]).fail('BAD_VERSION', { place: 2 });
    story.transact([entry(9), pay(2, '95 9'), pay(3, '105 9')]).info();
    story.list('e7-0000000000', 'e9-0000000001');
    const verdict = checkTransactions(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({
      banks: 1,
      done: 3,
      refused: 1,
      unknown: 1,
      audits: 1,
      books: 1,
      entries: 1,
    });
  });

  it('of unknown outcome may be done, or not', () => {
    for (const value of ['90 7', '100 1']) {
      const story = begun();
      story.transact(story.move().steps).info();
      const isDone = value === '90 7';
      story.read(0, value, isDone ? 1 : 0);
      if (isDone) story.read(1, '110 7', 1);
      expectValid(checkTransactions(story.history));
    }
  });

  it('of which none is done show nothing', () => {
    const story = new Bank();
    story.transact([check(0)]).fail('UNSUPPORTED');
    expectUnknown(checkTransactions(story.history));
  });
});

describe('transactions are broken by', () => {
  it('one of unknown outcome that is done in part', () => {
    const story = begun();
    const asked = story.transact(story.move().steps);
    asked.info();
    story.read(0, '90 7', 1);
    const seen = story.read(1, '100 1', 0);
    expectBroken(checkTransactions(story.history), /no order explains/, asked.invoke, seenCall(story, seen), seen);
  });

  it('what one that failed has left', () => {
    const story = begun();
    story.transact(story.move().steps).fail('BAD_VERSION', { place: 3 });
    story.read(0, '90 7', 1);
    expectAmong(checkTransactions(story.history), /failed, and its "90 7" is in/);
  });

  it('a number that one that failed has used', () => {
    const story = begun();
    const { steps } = story.move();
    story.transact(steps).fail('SESSION_EXPIRED');
    story.transact([entry(8), pay(0, '90 8'), pay(1, '110 8')]).ok({ index: 30, results: [made(8, 1), 1, 1] });
    const listed = story.list('e8-0000000001');
    expectBroken(checkTransactions(story.history), /has 1 entries, and none of the number 0/, listed);
  });

  it('an entry of one that failed', () => {
    const story = begun();
    const asked = story.transact(story.move().steps);
    const failed = asked.fail('SESSION_EXPIRED');
    const listed = story.list('e7-0000000000');
    expectBroken(checkTransactions(story.history), /failed, and left "e7-/, asked.invoke, failed, listed);
  });

  it('an entry that is missing, or there twice', () => {
    const missing = moved();
    missing.list();
    expectAmong(checkTransactions(missing.history), /made "e7-0000000000", and the book does not have it/);
    const twice = moved();
    twice.list('e7-0000000000', 'e7-0000000001');
    expectAmong(checkTransactions(twice.history), /was done twice/);
  });

  it('accounts that have together more than they began with', () => {
    const story = begun();
    const asked = story.transact([pay(0, '90 7'), pay(1, '120 7')]);
    asked.ok({ index: 30, results: [1, 1] });
    const audit = story.transact([check(0, 1), check(1, 1), check(2), check(3)]);
    story.read(2, '100 1', 0);
    const seen = audit.ok({ index: 31, results: [null, null, null, null] });
    expectBroken(checkTransactions(story.history), /all accounts together have 410/, audit.invoke, seen);
  });

  it('two that write one version', () => {
    const story = moved();
    story.transact([pay(0, '95 8'), pay(2, '105 8')]).ok({ index: 30, results: [1, 1] });
    expectAmong(checkTransactions(story.history), /version 1 of "\/bank-0\/account-0" is "90 7", and "95 8", too/);
  });

  it('an index that was used before', () => {
    const story = moved();
    const asked = story.transact([pay(2, '95 8'), pay(3, '105 8')]);
    asked.ok({ index: 11, results: [1, 1] });
    expectAmong(checkTransactions(story.history), /two transactions were done at index 11/);
    expectAmong(checkTransactions(story.history), /done at index 11, and 12 had been answered before it was asked/);
  });

  it('numbers in another order than the indexes', () => {
    const story = moved();
    story.transact([entry(8), pay(0, '80 8', 1), pay(1, '120 8', 1)]).ok({ index: 30, results: [made(8, 0), 2, 2] });
    expectAmong(checkTransactions(story.history), /at index 30 has the number 0, and the one at 12 has 0/);
  });

  it('a refusal that names another operation', () => {
    const story = begun();
    story.transact([entry(7), pay(0, '90 7', 5), pay(1, '110 7')]).fail('BAD_VERSION', { place: 2 });
    expectAmong(checkTransactions(story.history), /no order explains that call .* BAD_VERSION at operation 2/);
  });

  it('a value that nobody has written', () => {
    const story = begun();
    story.read(0, '1 99', 0);
    expectAmong(checkTransactions(story.history), /is "1 99", which nobody has written/);
  });
});

function seenCall(story: Story, { seq }: HistoryEvent): HistoryEvent {
  const before = story.history[seq - 2];
  if (before === undefined) throw new Error('there is no event before the first one');
  return before;
}
