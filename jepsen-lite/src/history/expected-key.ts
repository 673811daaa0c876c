/** Whether something that was read says what a key must have: a revision and the value of it, or neither. */

import type { ExpectedKey } from './history.ts';

export function isExpectedKey(value: unknown): value is ExpectedKey {
  if (typeof value !== 'object' || value === null) return false;
  const { revision, value: text, ...others } = value as Readonly<Record<string, unknown>>;
  if (Object.keys(others).length > 0) return false;
  if (revision === null) return text === null;
  return Number.isSafeInteger(revision) && Number(revision) >= 0 && typeof text === 'string';
}
