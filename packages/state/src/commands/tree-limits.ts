/** How large the tree may grow. */

import type { StateLimits } from '../limits.ts';
import { errorReply, type ErrorReply } from '../replies.ts';
import type { TreeView } from '../tree/tree-view.ts';

export interface LimitedTree {
  readonly nodes: Pick<TreeView, 'size' | 'nameBytes' | 'dataBytes'>;
  readonly limits: StateLimits;
}

/** Undefined when the tree has room for so much more. */
export function treeLimitReply(
  { nodes, limits }: LimitedTree,
  moreNodes: number,
  moreNameBytes: number,
  moreDataBytes: number,
): ErrorReply | undefined {
  if (moreNodes > 0 && nodes.size + moreNodes > limits.maxNodes) {
    return errorReply('LIMIT_EXCEEDED', `the tree has ${nodes.size} nodes, at most ${limits.maxNodes}; delete some`);
  }
  if (moreNameBytes > 0 && nodes.nameBytes + moreNameBytes > limits.maxTreeNameBytes) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the names of the tree take ${nodes.nameBytes} bytes, at most ${limits.maxTreeNameBytes}; delete some nodes`,
    );
  }
  if (moreDataBytes > 0 && nodes.dataBytes + moreDataBytes > limits.maxTreeDataBytes) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the tree has ${nodes.dataBytes} bytes of data, at most ${limits.maxTreeDataBytes}; delete some nodes`,
    );
  }
  return undefined;
}
