/** The options of a call, and the checks of its arguments: nothing is sent before all are well-formed. */

import { checkHolder, checkOptionNames, checkScope, FenceError } from '@holdfast/fence';

export interface InstallOptions {
  /** Ends the call, besides the holder's own signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For how many milliseconds a call is tried again while others publish in the scope. Then it rejects with TIMEOUT, and nothing was written.
   * @default 30,000
   */
  readonly waitMs?: number | undefined;
}

const DEFAULT_WAIT_MS = 30_000;
const MAX_WAIT_MS = 2 ** 31 - 1;
/** The longest name of a file, in bytes of UTF-8. */
const MAX_NAME_BYTES = 500;

export interface Settings {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
}

/** @throws FenceError INVALID_ARGUMENT */
export function settingsOf(what: string, scope: unknown, holder: unknown, options: InstallOptions): Settings {
  checkOptionNames(what, options, { signal: true, waitMs: true });
  checkScope(scope);
  checkHolder(holder);
  const { signal, waitMs = DEFAULT_WAIT_MS } = options;
  if (!Number.isInteger(waitMs) || waitMs < 1 || waitMs > MAX_WAIT_MS) {
    throw invalid(`waitMs is ${String(waitMs)}; it is a whole number of milliseconds from 1 to ${MAX_WAIT_MS}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal is no AbortSignal');
  return { signal, waitMs };
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkBody(body: unknown): void {
  if (typeof body !== 'function') {
    throw invalid('the fourth argument is the body: a function that is given the transaction');
  }
}

/** @throws FenceError INVALID_ARGUMENT */
export function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '') throw invalid('a file has a name: a string that is not empty');
  if (/[\0\p{Surrogate}]/u.test(name)) {
    throw invalid(`the name ${JSON.stringify(name)} has a U+0000 or half of a surrogate pair: leave it out`);
  }
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_NAME_BYTES) throw invalid(`a name of a file has ${bytes} bytes, at most ${MAX_NAME_BYTES}`);
}

export function invalid(message: string): FenceError {
  return new FenceError('INVALID_ARGUMENT', message);
}
