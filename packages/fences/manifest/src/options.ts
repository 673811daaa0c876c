/** The options of a call, and the checks of its arguments: nothing is sent before all are well-formed. */

import { invalid } from '@holdfast/fence/adapter';

export interface InstallOptions {
  /** Ends the call, besides the holder's own signal. */
  readonly signal?: AbortSignal | undefined;
  /**
   * For how many milliseconds a call is tried again while others publish in the scope. Then it rejects with TIMEOUT, and nothing was written.
   * @default 30,000
   */
  readonly waitMs?: number | undefined;
}

const ENDED = 'the call was ended by a signal before it published; nothing was written';
export const LIMIT = { name: 'waitMs', defaultMs: 30_000, ended: ENDED } as const;
/** The longest name of a file, in bytes of UTF-8. */
const MAX_NAME_BYTES = 500;

/** @throws FenceError INVALID_ARGUMENT */
export function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '') throw invalid('a file has a name: a string that is not empty');
  if (/[\0\p{Surrogate}]/u.test(name)) {
    throw invalid(`the name ${JSON.stringify(name)} has a U+0000 or half of a surrogate pair: leave it out`);
  }
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_NAME_BYTES) throw invalid(`a name of a file has ${bytes} bytes, at most ${MAX_NAME_BYTES}`);
}
