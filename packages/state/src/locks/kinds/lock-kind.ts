/**
 * What sets one kind of lock apart from the others. A kind is one file beside this one and one line in `lock-kinds.ts`; queues, tokens,
 * snapshots and sessions are the same for all kinds, and ask the kind where they are not.
 */

/** Those who hold the lock now, in the order in which they asked for it. */
interface Holders {
  readonly size: number;
}

export interface LockKind {
  /** For listings and messages. */
  readonly name: string;
  /** What stands for it in commands and snapshots; from 0 to MAX_LOCK_KIND. */
  readonly number: number;
  /** The state version from which on it exists. */
  readonly since: number;
  /**
   * Whether the request at the head of the queue may hold beside the present holders. Must not become false by a holder's leaving. The
   * queue's order is not its business: nobody overtakes a request that has to wait.
   */
  mayJoin(holders: Holders): boolean;
}
