/**
 * Accounts that are kept in nodes below a bank, each as the text of its amount and the number of the call that wrote it: no two writes are
 * the same. What all accounts of a bank have together never changes. Each transfer leaves a sequential node in the bank's book, whose name
 * says which call has made it; nobody deletes one, so that they are numbered from 0, without a gap.
 */

const PREFIX = '/bank-';
const ENTRY = /^(e\d+-)(\d{10})$/;

export const ACCOUNTS = 4;
/** In each account at the beginning. */
export const OPENING_AMOUNT = 100;

/** A new one begins with each number of `round`, so that none has a long history. */
export function bankPath(round: number): string {
  return `${PREFIX}${round}`;
}

export function accountPath(bank: string, account: number): string {
  return `${bank}/account-${account}`;
}

/** A node that comes and goes. */
export function flagPath(bank: string): string {
  return `${bank}/flag`;
}

export function bookPath(bank: string): string {
  return `${bank}/book`;
}

/** To which the ensemble appends a number. */
export function entryPath(bank: string, call: number): string {
  return `${bookPath(bank)}/e${call}-`;
}

/** Undefined for a path that belongs to none. */
export function bankOf(path: string): string | undefined {
  if (!path.startsWith(PREFIX)) return undefined;
  const end = path.indexOf('/', 1);
  return end === -1 ? path : path.slice(0, end);
}

export function isAccount(path: string): boolean {
  return path.includes('/account-');
}

export function withCall(amount: number, call: number): string {
  return `${amount} ${call}`;
}

export function amountOf(value: string): number {
  return Number.parseInt(value, 10);
}

/** Of an entry in a book: what was asked for, and its number. Undefined for a name that no transfer can have made. */
export function parseEntry(name: string): { readonly prefix: string; readonly number: number } | undefined {
  const parts = ENTRY.exec(name);
  return parts === null ? undefined : { prefix: parts[1] ?? '', number: Number(parts[2]) };
}
