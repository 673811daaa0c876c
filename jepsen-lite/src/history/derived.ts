/** What several checkers derive from a history is derived once: a history only grows, so that the same length means the same events. */

import type { History } from './history.ts';

/** Nobody may change what it gives out. */
export function derived<T>(derive: (history: History) => T): (history: History) => T {
  const known = new WeakMap<History, { readonly length: number; readonly value: T }>();
  return (history) => {
    const before = known.get(history);
    if (before?.length === history.length) return before.value;
    const value = derive(history);
    known.set(history, { length: history.length, value });
    return value;
  };
}
