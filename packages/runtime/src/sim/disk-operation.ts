/** The operations of a simulated disk: what each waits for, and as what its faults are counted. */

import type { StruckFault } from './struck.ts';

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
