/** Whether something that was read is an operation of a transaction: it has the fields of its kind, and no others. */

import type { TransactionStep } from './history.ts';

type Looks = (value: unknown) => boolean;

const text: Looks = (value) => typeof value === 'string';
const version: Looks = (value) => Number.isSafeInteger(value) && Number(value) >= -1;

/** By `op`: what it needs, and what it may have besides. */
const STEPS: Readonly<
  Record<
    TransactionStep['op'],
    { readonly needs: Readonly<Record<string, Looks>>; readonly may?: Readonly<Record<string, Looks>> }
  >
> = {
  check: { needs: { path: text, version } },
  create: { needs: { path: text, value: text }, may: { sequential: (value) => value === true } },
  set: { needs: { path: text, value: text, version } },
  remove: { needs: { path: text, version } },
};

export function isTransactionStep(value: unknown): value is TransactionStep {
  if (typeof value !== 'object' || value === null) return false;
  const { op, ...fields } = value as Readonly<Record<string, unknown>>;
  if (typeof op !== 'string' || !Object.hasOwn(STEPS, op)) return false;
  const { needs, may = {} } = STEPS[op as TransactionStep['op']];
  const known: Readonly<Record<string, Looks>> = { ...needs, ...may };
  return (
    Object.keys(needs).every((name) => Object.hasOwn(fields, name)) &&
    Object.entries(fields).every(([name, each]) => Object.hasOwn(known, name) && known[name]?.(each) === true)
  );
}
