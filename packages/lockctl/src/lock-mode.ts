/** How `lockctl lock` wants its lock: alone, to read or write, or a permit of several. All who use a lock at one time must mean one kind. */

import { MAX_PERMITS } from '@holdfast/protocol';
import { InvalidArgumentError } from 'commander';
import type { AcquirableLock, EnsembleClient } from './ensemble-client.ts';

export type LockMode =
  | { readonly type: 'exclusive' | 'read' | 'write' }
  | { readonly type: 'semaphore'; readonly permits: number };

export const EXCLUSIVE: LockMode = { type: 'exclusive' };

/** "exclusive", "read", "write", or "semaphore=5" for one of five permits. */
export function parseLockMode(text: string): LockMode {
  if (text === 'exclusive' || text === 'read' || text === 'write') return { type: text };
  const permits = Number(/^semaphore=(\d+)$/.exec(text)?.[1] ?? Number.NaN);
  if (permits >= 1 && permits <= MAX_PERMITS) return { type: 'semaphore', permits };
  const hint = text === 'shared' ? ' Who shares a lock says read, and who must be alone then says write.' : '';
  throw new InvalidArgumentError(
    `A mode is exclusive, read, write, or semaphore=N with N permits from 1 to ${MAX_PERMITS}.${hint}`,
  );
}

/** What to acquire. */
export function lockIn(client: EnsembleClient, name: string, mode: LockMode): AcquirableLock {
  switch (mode.type) {
    case 'exclusive':
      return client.lock(name);
    case 'read':
      return client.readWriteLock(name).read();
    case 'write':
      return client.readWriteLock(name).write();
    case 'semaphore':
      return client.semaphore(name, { permits: mode.permits });
  }
}
