/** What the fences of this repository are made of, besides the rule: signals, checks of arguments, and how failures are told. Not published. */

export { bounded, Cutoff, underWay, withCutoff, withLimit } from './cutoff.ts';
export { codeOf, isNetworkError, messageOf, succeeds, textIn, told, valueIn } from './failures.ts';
export { InstalledFloors } from './installed-floors.ts';
export { Recent } from './recent.ts';
export { isToken } from '../holder.ts';
export { checkBody, checkCall, checkMs, chosen, invalid } from './settings.ts';
