/** Names of locks that are asked for otherwise than as plain mutexes: each in one way alone, since nobody may use a lock in two ways at a time. */

import { lockName } from './plan.ts';

const USES = ['read-write', 'permits', 'account', 'reentrant', 'crossed', 'control', 'delayed', 'replicated'] as const;
/** What such a lock is for. */
type LockUse = (typeof USES)[number];

export function lockNameFor(use: LockUse, number: number): string {
  return `${lockName(number)}-${use}`;
}

/** Whether every wait for that lock is to end in a deadlock. */
export function isCrossed(lock: string): boolean {
  return lock.endsWith('-crossed');
}

/** That lock and those of its number that are for something else: a fault that strikes its holder may strike theirs. */
export function locksBeside(lock: string): readonly string[] {
  return [lock, ...USES.map((use) => `${lock}-${use}`)];
}
