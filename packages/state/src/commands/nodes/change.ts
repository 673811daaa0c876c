/** What a command on nodes will do, once everything about it has been checked. Each command makes one change, or (`check`) none. */

import type { QueuedAcquire } from '../../locks/lock.ts';
import type { NodeSlot } from '../../tree/node-slot.ts';
import type { NewNode } from '../../tree/node-store.ts';

export interface Creation extends NewNode {
  readonly type: 'create';
  /** Of the node, a sequence number included. */
  readonly path: string;
  /** The number behind its name; 0 for none. */
  readonly sequence: number;
}

export type PlannedChange =
  | { readonly type: 'check' }
  | Creation
  /** `data` undefined: the node has none afterwards. */
  | { readonly type: 'set'; readonly node: NodeSlot; readonly data: Uint8Array | undefined }
  | { readonly type: 'delete'; readonly node: NodeSlot }
  /** The deletion of a queue node: whoever holds the lock by it, or waits for it, loses that. */
  | { readonly type: 'revoke'; readonly acquire: QueuedAcquire };
