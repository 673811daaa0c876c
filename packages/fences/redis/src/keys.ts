/** Names of keys. In a cluster a script has keys of one slot only, which the text in the first braces of a key decides (its hash tag). */

import { checkScope } from '@holdfast/fence';
import { invalid } from '@holdfast/fence/adapter';

const PREFIX = 'holdfast:fence:';

/** Where the floor of the scope is kept. */
export function fenceKey(scope: string): string {
  return `${PREFIX}{${tagOf(scope)}}`;
}

/**
 * A key of the scope's data that is in the slot of its token, in a cluster as well. Without a cluster, keys may have any names.
 *
 * @throws FenceError INVALID_ARGUMENT
 *
 * @example
 * keyOf('jobs', '42'); // {jobs}:42
 */
export function keyOf(scope: string, name: string): string {
  checkScope(scope);
  if (typeof name !== 'string') throw invalid('the name of a key is a string, such as "42"');
  return `{${tagOf(scope)}}:${name}`;
}

/** Braces in a scope would end its tag too early, or begin another. */
function tagOf(scope: string): string {
  return scope.replace(/[{}%]/g, (sign) => encodeURIComponent(sign));
}

/** @throws FenceError INVALID_ARGUMENT where it is none of an application */
export function keyFrom(key: unknown): string {
  if (typeof key !== 'string' || key === '') throw invalid(`${String(key)} is no key: pass a string that is not empty`);
  if (!key.startsWith(PREFIX)) return key;
  throw invalid(`the key ${JSON.stringify(key)} is where a token is kept: choose another`);
}
