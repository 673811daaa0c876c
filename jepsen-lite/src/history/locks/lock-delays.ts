/** Locks that are delayed when a hold of them is lost, and for how long: whoever acquires such a lock asks for the same. */

import { callsOf } from '../calls.ts';
import { derived } from '../derived.ts';

/** In milliseconds, by lock. Where acquires ask for different delays, the shortest; a lock of which one asks for none is not among them. */
export const delaysOfLocks = derived((history): ReadonlyMap<string, number> => {
  const delays = new Map<string, number>();
  for (const { invoke } of callsOf(history, 'acquire', 'enter')) {
    const delayMs = invoke.f === 'acquire' ? (invoke.delayMs ?? 0) : 0;
    delays.set(invoke.lock, Math.min(delayMs, delays.get(invoke.lock) ?? delayMs));
  }
  return new Map([...delays].filter(([, delayMs]) => delayMs > 0));
});
