/** The operations of a simulated disk: what each waits for, and as what its faults are counted. */

import type { StruckFault } from '../struck.ts';

export type DiskOperation =
  | 'append'
  | 'write'
  | 'sync'
  | 'read'
  | 'truncate'
  | 'open'
  | 'list'
  | 'rename'
  | 'remove'
  | 'makeDirectory'
  | 'syncDirectory'
  | 'lockDirectory';

const EVENT_KINDS = {
  append: 'disk-append',
  write: 'disk-write',
  sync: 'disk-sync',
  read: 'disk-read',
  truncate: 'disk-truncate',
  open: 'disk-open',
  list: 'disk-list',
  rename: 'disk-rename',
  remove: 'disk-remove',
  makeDirectory: 'disk-makeDirectory',
  syncDirectory: 'disk-syncDirectory',
  lockDirectory: 'disk-lockDirectory',
} as const satisfies Readonly<Record<DiskOperation, string>>;

/** Of its end, in the trace. Made once: a text that is put together anew is a new key to every map. */
export function eventKind(operation: DiskOperation): string {
  return EVENT_KINDS[operation];
}

/** What an operation waits for: the medium, or only the cache. */
export function latencyClass(operation: DiskOperation): 'durable' | 'cached' {
  switch (operation) {
    case 'append':
    case 'sync':
    case 'syncDirectory':
    case 'makeDirectory':
      return 'durable';
    case 'write':
    case 'read':
    case 'truncate':
    case 'open':
    case 'list':
    case 'rename':
    case 'remove':
    case 'lockDirectory':
      return 'cached';
  }
}

/** Not a list: on the medium's side it stands for asking the free space, too. */
export function needsDescriptor(operation: DiskOperation): boolean {
  return operation === 'open' || operation === 'syncDirectory' || operation === 'lockDirectory';
}

export function slowed(operation: DiskOperation): StruckFault {
  return latencyClass(operation) === 'durable' ? 'sync-slowed' : 'disk-operation-slowed';
}

export function stalled(operation: DiskOperation): StruckFault {
  return latencyClass(operation) === 'durable' ? 'sync-stalled' : 'disk-operation-stalled';
}

export function failed(operation: DiskOperation, writtenShare: number): StruckFault {
  switch (operation) {
    case 'append':
    case 'write':
      return writtenShare > 0 && writtenShare < 1 ? 'write-partly-done' : 'write-failed';
    case 'truncate':
      return 'write-failed';
    case 'sync':
    case 'syncDirectory':
      return 'sync-failed';
    case 'read':
      return 'read-failed';
    case 'open':
    case 'list':
    case 'rename':
    case 'remove':
    case 'makeDirectory':
    case 'lockDirectory':
      return 'disk-operation-failed';
  }
}
