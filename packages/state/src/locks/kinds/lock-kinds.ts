/** Every kind of lock that this program knows. */

import type { LockKind } from './lock-kind.ts';
import { mutex } from './mutex.ts';

export const LOCK_KINDS: readonly LockKind[] = [mutex];
