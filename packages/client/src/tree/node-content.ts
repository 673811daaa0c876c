/** What is read of a node. */

import { PLAIN_NODE, type Answer, type Stat } from '@holdfast/protocol';

/**
 * What `get` says of a node beside its stat.
 *
 * @example
 * const { data, stat } = await client.nodes.get('/config');
 * console.log(data?.length, stat.version);
 */
export interface NodeContent {
  readonly data: Uint8Array;
  readonly stat: Stat;
  /** False for a node that was made or set with `null`; its `data` are empty. */
  readonly hasData: boolean;
  /** It goes after its last child. */
  readonly container: boolean;
  /** It goes when it has had no children and no change for so long; undefined for never. */
  readonly ttlMs: number | undefined;
}

/** With bytes of its own: the answer's are a view of the whole frame. */
export function contentOf(answer: Extract<Answer, { type: 'get' }>): NodeContent {
  const { noData, container, ttlMs } = answer.traits ?? PLAIN_NODE;
  const data = new Uint8Array(answer.data);
  return { data, stat: answer.stat, hasData: !noData, container, ttlMs: ttlMs === 0 ? undefined : ttlMs };
}
