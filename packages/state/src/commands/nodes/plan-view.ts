/** What decides about a change of nodes: the state as it is, or a draft over it (draft.ts). */

import { RESERVED_PATH } from '@holdfast/protocol';

import type { StateLimits } from '../../limits.ts';
import type { QueuedAcquire } from '../../locks/lock.ts';
import { errorReply, quoted, type ErrorReply } from '../../replies.ts';
import type { Session } from '../../sessions/session.ts';
import { ExtraTag } from '../../tree/extra-tag.ts';
import type { NodeSlot } from '../../tree/node-slot.ts';
import { extrasBytes, type NodeExtra } from '../../tree/storage/node-extras.ts';
import type { TreeView } from '../../tree/tree-view.ts';
import type { Rules } from '../../versions.ts';

export interface PlanView {
  readonly nodes: TreeView;
  readonly locks: { acquireOf(node: NodeSlot): QueuedAcquire | undefined };
  readonly rules: Rules;
  readonly limits: StateLimits;
  readonly index: number;
  readonly stamp: number;
  ephemeralsOf(session: Session): number;
}

/** Of a node without data. */
export const NO_DATA_EXTRA: NodeExtra = { tag: ExtraTag.noData, bytes: new Uint8Array(0) };
const NO_DATA_EXTRA_BYTES = extrasBytes([NO_DATA_EXTRA]);

/** By how much the extras of a node grow that has data, or none, afterwards. */
export function extraBytesOfSet(nodes: TreeView, node: NodeSlot, data: Uint8Array | undefined): number {
  const had = nodes.hasData(node);
  const has = data !== undefined;
  if (had === has) return 0;
  return has ? -NO_DATA_EXTRA_BYTES : NO_DATA_EXTRA_BYTES;
}

export function reservedReply(path: string): ErrorReply {
  return errorReply(
    'RESERVED_PATH',
    `${quoted(path)} is reserved: clients change nothing at and under ${RESERVED_PATH} but by acquire and release; use another path`,
  );
}
