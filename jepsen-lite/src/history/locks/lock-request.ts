/** Whether something that was read is what can be asked of a lock: it has the fields of its kind, and no others. */

import type { LockRequest } from '@holdfast/protocol';

type Looks = (value: unknown) => boolean;

const yesOrNo: Looks = (value) => typeof value === 'boolean';
const count: Looks = (value) => Number.isSafeInteger(value) && Number(value) >= 1;

const KINDS: Readonly<Record<LockRequest['type'], Readonly<Record<string, Looks>>>> = {
  mutex: {},
  readWrite: { write: yesOrNo },
  semaphore: { permits: count, limit: count },
};

export function isLockRequest(value: unknown): value is LockRequest {
  if (typeof value !== 'object' || value === null) return false;
  const { type, ...fields } = value as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string' || !Object.hasOwn(KINDS, type)) return false;
  const known = KINDS[type as LockRequest['type']];
  return (
    Object.keys(known).every((name) => Object.hasOwn(fields, name)) &&
    Object.entries(fields).every(([name, each]) => Object.hasOwn(known, name) && known[name]?.(each) === true)
  );
}
