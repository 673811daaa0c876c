/** Every kind of lock that this program knows. */

import type { LockKind } from './lock-kind.ts';
import { mutex } from './mutex.ts';
import { readWrite } from './read-write.ts';
import { semaphore } from './semaphore.ts';

export const LOCK_KINDS: readonly LockKind[] = [mutex, readWrite, semaphore];
