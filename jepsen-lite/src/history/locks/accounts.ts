/**
 * Accounts at the fenced store, each in a bucket of its own and protected by a lock of its own. Whoever moves an amount holds both locks at
 * once, under one token, and writes to one after the other. So what all of them have together changes only by moves that were broken off.
 */

/** So few that any two moves have an account in common: no entry grants both, so that each has a token of its own. */
export const ACCOUNTS = 3;
/** What an account has before anything was written to it. */
export const OPENING_AMOUNT = 100;
/** Of the amount in an account's bucket. */
export const AMOUNT_KEY = 'amount';

/** What one write leaves in an account: no two are the same. */
export interface Posting {
  /** Of the hold under which it was written. */
  readonly token: number;
  /** Of those to the account, the first is 1; it was built on the one before. */
  readonly number: number;
  readonly amount: number;
  /** By which it has changed the amount. */
  readonly change: number;
}

export function postingText({ token, number, amount, change }: Posting): string {
  return `${token}:${number}:${amount}:${change}`;
}

/** Undefined for a text that is none. */
export function parsePosting(text: string): Posting | undefined {
  const parts = /^(\d{1,16}):(\d{1,15}):(-?\d{1,15}):(-?\d{1,15})$/.exec(text);
  if (parts === null) return undefined;
  return { token: Number(parts[1]), number: Number(parts[2]), amount: Number(parts[3]), change: Number(parts[4]) };
}
