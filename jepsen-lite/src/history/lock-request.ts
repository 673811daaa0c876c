/** What an event says of how a lock is wanted, as it is in a file. */

import { lockKinds, MAX_HOLD_ENTRIES, MAX_PERMITS, type LockRequest } from '@holdfast/protocol';

type Fields = { readonly [K in LockRequest['type']]: (request: Readonly<Record<string, unknown>>) => boolean };

const FIELDS: Fields = {
  mutex: () => true,
  readWrite: ({ mode }) => mode === 'read' || mode === 'write',
  semaphore: ({ permits, count }) => isWithin(1, permits, MAX_PERMITS) && isWithin(1, count, MAX_PERMITS),
  reentrant: ({ owner, limit }) => isWithin(0, owner, Number.MAX_SAFE_INTEGER) && isWithin(1, limit, MAX_HOLD_ENTRIES),
};

export function isLockRequest(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('type' in value) || typeof value.type !== 'string') return false;
  if (!Object.hasOwn(lockKinds.numbers, value.type)) return false;
  return FIELDS[value.type as LockRequest['type']](value as Readonly<Record<string, unknown>>);
}

function isWithin(least: number, value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
}
