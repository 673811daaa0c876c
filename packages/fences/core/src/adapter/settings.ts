/** The checks of a call's arguments: nothing is sent before all are well-formed. */

import { FenceError } from '../errors.ts';
import { checkHolder, checkScope, isSignal } from '../holder.ts';
import { checkOptionNames } from '../option-names.ts';

/** The longest time that timers and databases take. */
const MAX_MS = 2 ** 31 - 1;

export function invalid(message: string, cause?: unknown): FenceError {
  return new FenceError('INVALID_ARGUMENT', message, { cause });
}

/** What all calls under a token have. */
interface CallArguments {
  readonly scope: unknown;
  readonly holder: unknown;
  readonly options: { readonly signal?: AbortSignal | undefined };
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkCall(
  what: string,
  { scope, holder, options }: CallArguments,
  known: Readonly<Record<string, true>>,
): void {
  checkOptionNames(what, options, known);
  checkScope(scope);
  checkHolder(holder);
  if (options.signal !== undefined && !isSignal(options.signal)) throw invalid('signal is no AbortSignal');
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkBody(body: unknown): void {
  if (typeof body !== 'function') {
    throw invalid('the fourth argument is the body: a function that is given the transaction');
  }
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkMs(name: string, value: unknown, max: number = MAX_MS): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return;
  throw invalid(`${name} is ${String(value)}; it is a whole number of milliseconds from 1 to ${max}`);
}

/** @throws FenceError INVALID_ARGUMENT where there is no such choice */
export function chosen<Value>(what: string, name: string, of: Readonly<Record<string, Value>>): Value {
  const value = Object.hasOwn(of, name) ? of[name] : undefined;
  if (value !== undefined) return value;
  throw invalid(`${what} is ${JSON.stringify(name)}; it is one of ${Object.keys(of).join(', ')}`);
}
