/** Options that are misspelt would otherwise be options that are not there. The names are checked where TypeScript does not see them. */

import { FenceError } from './errors.ts';

/**
 * @throws FenceError INVALID_ARGUMENT that names the unknown option and those that there are
 *
 * @example
 * checkOptionNames('fence', options, { signal: true, timeoutMs: true });
 */
export function checkOptionNames(what: string, options: unknown, known: Readonly<Record<string, true>>): void {
  const names = (): string => Object.keys(known).join(', ');
  if (typeof options !== 'object' || options === null) {
    throw new FenceError('INVALID_ARGUMENT', `${what} takes an object with options, ${names()}; it was given another`);
  }
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue;
    throw new FenceError('INVALID_ARGUMENT', `${what} has no option ${JSON.stringify(name)}; known are ${names()}`);
  }
}
