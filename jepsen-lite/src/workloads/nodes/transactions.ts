/**
 * Moves amounts between accounts, in transactions that demand the versions that were read. Each leaves an entry in the book, and may put up
 * or take down a flag; some demand a version that an account has not, behind all that they would do. Others check the versions of all
 * accounts alone: one that succeeds has seen all of them at one index. When everything has healed, every client lists the books.
 */

import { check, create, remove, set, type TransactionOperation } from '@holdfast/client';
import {
  accountPath,
  ACCOUNTS,
  amountOf,
  bankPath,
  bookPath,
  entryPath,
  flagPath,
  OPENING_AMOUNT,
  withCall,
} from '../../history/banks.ts';
import type { TransactionStep } from '../../history/history.ts';
import type { Caller, ClientSession, Workload } from '../workload.ts';
import { readAll } from './read-all.ts';
import { isUnsupported, listNodes, readNode, type FoundNode } from './use-node.ts';

/** New banks begin so often. */
const ROUND_MS = 3_000;
/** Transactions of a worker without a pause: conflicts are what this is about. */
const MAX_BURST = 3;
const AUDIT_ONE_IN = 4;
const WRONG_VERSION_ONE_IN = 6;
const MAX_AMOUNT = 10;

export const transactions: Workload = {
  name: 'transactions',
  checks: ['transactions'],
  oneIn: 24,
  latestVersion: true,
  hasRounds: true,
  async step(session) {
    const { random, goesOn } = session;
    let goes = true;
    for (let left = 1 + random.integer(MAX_BURST); left > 0 && goes && goesOn(); left -= 1)
      goes = await useBank(session);
  },
  async lastReading(session) {
    const rounds = Math.floor(session.world.nowMs() / ROUND_MS) + 1;
    const books = Array.from({ length: rounds }, (_, round) => bookPath(bankPath(round)));
    await readAll(books, (book) => listNodes(session, book));
  },
};

interface Account {
  readonly path: string;
  readonly amount: number;
  readonly version: number;
}

/** False when it makes no sense to go on at once: servers know no transactions yet. */
async function useBank(session: ClientSession): Promise<boolean> {
  const { round, world } = session;
  const bank = bankPath(Math.floor(world.nowMs() / ROUND_MS));
  const paths = Array.from({ length: ACCOUNTS }, (_, account) => accountPath(bank, account));
  const [flag, ...found] = await Promise.all([flagPath(bank), ...paths].map((path) => readNode(session, path)));
  const accounts = found.flatMap((node, at) => accountOf(paths[at] ?? '', node));
  const isOpen = flag !== undefined && accounts.length === found.length;
  // Some of it may have been read before it was opened.
  if (!isOpen && accounts.length > 0) return true;
  const outcome = await transact(
    session,
    isOpen ? drawn(session, bank, accounts, flag) : opening(session, bank, paths),
  );
  // That servers know none yet is an answer, too.
  if ((isOpen && outcome === 'done') || outcome === 'unsupported') round();
  return outcome !== 'unsupported';
}

function drawn(
  session: ClientSession,
  bank: string,
  accounts: readonly Account[],
  flag: FoundNode,
): readonly TransactionStep[] {
  const isAudit = session.random.integer(AUDIT_ONE_IN) === 0;
  return isAudit ? accounts.map(checkOf) : transfer(session, bank, accounts, flag);
}

function accountOf(path: string, node: FoundNode | undefined): Account[] {
  if (node === undefined || node.value === null) return [];
  return [{ path, amount: amountOf(node.value), version: node.version }];
}

function opening({ world }: ClientSession, bank: string, paths: readonly string[]): TransactionStep[] {
  const call = world.nextCall();
  const node = (path: string, value: string): TransactionStep => ({ op: 'create', path, value });
  const accounts = paths.map((path) => node(path, withCall(OPENING_AMOUNT, call)));
  return [node(bank, ''), ...accounts, node(bookPath(bank), '')];
}

function transfer(
  { random, world }: ClientSession,
  bank: string,
  accounts: readonly Account[],
  flag: FoundNode,
): TransactionStep[] {
  const call = world.nextCall();
  const from = random.integer(accounts.length);
  const others = accounts.filter((_, at) => at !== from);
  const [payer, payee, witness] = [accounts[from], ...turned(random.integer(others.length), others)];
  if (payer === undefined || payee === undefined || witness === undefined) return [];
  const amount = 1 + random.integer(MAX_AMOUNT);
  const pay = ({ path, amount: had, version }: Account, more: number): TransactionStep => {
    return { op: 'set', path, value: withCall(had + more, call), version };
  };
  const turn: TransactionStep =
    flag.value === null
      ? { op: 'create', path: flagPath(bank), value: `${call}` }
      : { op: 'remove', path: flagPath(bank), version: flag.version };
  const { path, version } = witness;
  const wrong = random.integer(WRONG_VERSION_ONE_IN) === 0 ? 1 : 0;
  return [
    { op: 'create', path: entryPath(bank, call), value: '', sequential: true },
    pay(payer, -amount),
    ...(random.integer(2) === 0 ? [turn] : []),
    pay(payee, amount),
    { op: 'check', path, version: version + wrong },
  ];
}

/** From that one on, around. */
function turned<T>(first: number, all: readonly T[]): T[] {
  return [...all.slice(first), ...all.slice(0, first)];
}

function checkOf({ path, version }: Account): TransactionStep {
  return { op: 'check', path, version };
}

type Outcome = 'done' | 'unsupported' | 'other';

async function transact({ calls, client }: Caller, steps: readonly TransactionStep[]): Promise<Outcome> {
  const { nodes, sessionId: session } = client;
  let outcome: Outcome = 'other';
  const run = async (): Promise<{ index: number; results: (string | number | null)[] }> => {
    try {
      const { index, results } = await nodes.transaction(steps.map(operationOf));
      outcome = 'done';
      return { index, results: results.map(resultOf) };
    } catch (error) {
      if (isUnsupported(error)) outcome = 'unsupported';
      throw error;
    }
  };
  const refusals = ['NODE_EXISTS', 'NOT_FOUND', 'BAD_VERSION', 'UNSUPPORTED'];
  await calls.make({ f: 'transaction', operations: steps, session }, run, refusals);
  return outcome;
}

function operationOf(step: TransactionStep): TransactionOperation {
  switch (step.op) {
    case 'check':
      return check(step.path, { version: step.version });
    case 'create':
      return create(step.path, step.value, step.sequential === true ? { sequential: true } : {});
    case 'set':
      return set(step.path, step.value, { version: step.version });
    case 'remove':
      return remove(step.path, { version: step.version });
  }
}

type Result = Awaited<ReturnType<Caller['client']['nodes']['transaction']>>['results'][number];

function resultOf(result: Result): string | number | null {
  if (result.type === 'create') return result.path;
  return result.type === 'set' ? result.version : null;
}
