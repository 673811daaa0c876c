/** What is known of a node beside its data: ZooKeeper's fields, with the log index as zxid. */

import { flag, integer, record, type ValueOf } from '../schema/field.ts';

export const stat = record({
  /** Log index of the entry that created the node. */
  czxid: integer(),
  /** Log index of the last change of its data; of a lock's queue node, its token once granted. */
  mzxid: integer(),
  /** Log index of the last creation or deletion of a direct child. */
  pzxid: integer(),
  /** Milliseconds since the Unix epoch, by the leader's wall clock. */
  ctime: integer(),
  mtime: integer(),
  /** Number of changes of its data. */
  version: integer(),
  /** Number of creations and deletions of direct children. */
  cversion: integer(),
  aversion: integer(),
  /** The session with which the node goes; 0 for a persistent node. */
  ephemeralOwner: integer(),
  dataLength: integer(),
  numChildren: integer(),
});

/**
 * What the ensemble knows of a node beside its data.
 *
 * @example
 * const { stat } = await client.nodes.get('/config');
 * await client.nodes.set('/config', 'new', { version: stat.version });
 */
export interface Stat extends ValueOf<typeof stat> {}

/** What only few nodes have. */
export const nodeTraits = record({
  /** It has no data at all, which is not the same as empty data. */
  noData: flag(),
  /** It goes after its last child. */
  container: flag(),
  /** It goes when it has had no children and no change for so long; 0 for never. */
  ttlMs: integer(),
});

export interface NodeTraits extends ValueOf<typeof nodeTraits> {}

/** Of nearly all nodes. */
export const PLAIN_NODE: NodeTraits = { noData: false, container: false, ttlMs: 0 };
