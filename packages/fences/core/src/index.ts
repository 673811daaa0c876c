/**
 * What the fences of every resource have in common: what they need of a held lock, the rule, and the errors.
 *
 * @example
 * import { checkHolder, checkScope, floorOf, StaleTokenError } from '@holdfast/fence';
 *
 * function write(scope: string, holder: Holder, value: string): void {
 *   checkScope(scope);
 *   checkHolder(holder);
 *   const highest = floors.get(scope) ?? 0;
 *   if (holder.token < highest) throw new StaleTokenError(scope, holder.token, highest);
 *   floors.set(scope, Math.max(highest, floorOf(holder))); // in one atomic step with the write
 * }
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type FenceErrorOptions } from './errors.ts';
export { checkHolder, checkScope, floorOf, type Holder } from './holder.ts';
export { checkOptionNames } from './option-names.ts';
