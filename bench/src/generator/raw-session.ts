/**
 * What every load generator can do through one session, whatever the system: the works are written once, on top of this. Callbacks
 * instead of promises, since a promise per operation would be a share of what is measured.
 */

/** All that can be said of a client library's session. */
export interface LockSession {
  /**
   * Takes the lock by the system's own recipe and calls back when this session holds it. `lock` is one that `prepareLock` has
   * been called for. At most one acquire or hold a session.
   */
  acquire(lock: string, granted: () => void): void;
  /** Gives back what `acquire` took. */
  release(done: () => void): void;
  prepareLock(lock: string, done: () => void): void;
  /** Ends the session, with its ephemerals. */
  close(done: () => void): void;
}

export interface RawSession extends LockSession {
  write(node: string, data: Uint8Array, done: () => void): void;
  /** A read that reflects every write answered before it began. */
  linearizableRead(node: string, done: () => void): void;
  /** A read that may lag behind the leader. */
  sessionRead(node: string, done: () => void): void;
  createEphemeral(node: string, data: Uint8Array, done: () => void): void;
  /** Creates persistent nodes, many at once where the system can. */
  createNodes(nodes: readonly string[], data: Uint8Array, done: () => void): void;
  /** Sets the data of all of them, or of none. They exist. */
  transaction(nodes: readonly string[], data: Uint8Array, done: () => void): void;
  /** Tells `changed` once when the node changes next; `armed` when the server watches. Undefined where the system cannot. */
  readonly watch: ((node: string, armed: () => void, changed: () => void) => void) | undefined;
  /** Drops the connection without a word. */
  destroy(): void;
}

export interface OpenOptions {
  readonly address: string;
  readonly sessionTimeoutMs: number;
  /** The connection is lost, or the server refused something: nothing can be measured any more. */
  readonly onFailure: (error: Error) => void;
}

export type OpenSession<Session extends LockSession> = (
  options: OpenOptions,
  opened: (session: Session) => void,
) => void;
