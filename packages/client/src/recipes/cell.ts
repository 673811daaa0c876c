/** A node that holds one value and is changed by who has read it last: a write names the version that was read, and the second one reads again. */

import { BadVersionError, NodeExistsError, NotFoundError } from '../errors.ts';
import type { Nodes } from '../nodes.ts';
import type { CallOptions } from '../session/call.ts';
import { createBelow, ifThere } from './recipe-tree.ts';

/** The text that is to be there, or undefined to leave what is. `present` is undefined where there is no node. */
type Change = (present: string | undefined) => string | undefined;

const decoder = new TextDecoder();

export async function readCell(nodes: Nodes, path: string, options: CallOptions): Promise<string | undefined> {
  const node = await ifThere(nodes.get(path, options));
  return node && decoder.decode(node.data);
}

/** Gives what is there afterwards. Whenever it has to begin anew, somebody else's change has been made. */
export async function changeCell(
  nodes: Nodes,
  path: string,
  options: CallOptions,
  change: Change,
): Promise<string | undefined> {
  for (;;) {
    const node = await ifThere(nodes.get(path, options));
    const present = node && decoder.decode(node.data);
    const next = change(present);
    if (next === undefined) return present;
    try {
      if (node === undefined) await createBelow(nodes, path, next, options);
      else await nodes.set(path, next, { ...options, version: node.stat.version });
      return next;
    } catch (error) {
      if (!wasQuicker(error)) throw error;
    }
  }
}

/** Somebody else has made, changed or deleted it since it was read. */
function wasQuicker(error: unknown): boolean {
  return error instanceof BadVersionError || error instanceof NodeExistsError || error instanceof NotFoundError;
}
