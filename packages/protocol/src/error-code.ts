/**
 * The closed set of error codes. A name never changes its meaning or its number; new ones are added at the end.
 *
 * `retryable`: the same call may succeed later without anybody changing it.
 * `indeterminate`: the request may have taken effect, or may still do so.
 */

interface CodeProperties {
  readonly wire: number;
  readonly retryable: boolean;
  readonly indeterminate: boolean;
}

const definite = (wire: number): CodeProperties => ({ wire, retryable: false, indeterminate: false });
const later = (wire: number): CodeProperties => ({ wire, retryable: true, indeterminate: false });
const unknown = (wire: number): CodeProperties => ({ wire, retryable: true, indeterminate: true });

export const ERROR_CODES = {
  /** The node, session or lock does not exist. */
  NOT_FOUND: definite(1),
  /** A node exists at that path. */
  NODE_EXISTS: definite(2),
  /** The node's version is not the one demanded. */
  BAD_VERSION: definite(3),
  /** The node has children. */
  NOT_EMPTY: definite(4),
  /** The parent is ephemeral; ephemeral nodes have no children. */
  EPHEMERAL_PARENT: definite(5),
  /** An argument is malformed: a path, a name, a size, a type. */
  INVALID_ARGUMENT: definite(6),
  /** A documented limit would be exceeded. */
  LIMIT_EXCEEDED: definite(7),
  /** The path belongs to the locks; only acquire makes nodes there. */
  RESERVED_PATH: definite(8),
  /** The lock is held, and the request was not to wait. */
  LOCK_HELD: later(9),
  /** No such hold: it was released, revoked, or never granted. */
  NOT_HELD: definite(10),
  /** The session has ended; nothing of it is left and it never comes back. */
  SESSION_EXPIRED: definite(11),
  /** The session was attached through another connection since. */
  SESSION_MOVED: definite(12),
  /** A request number was skipped; refused without effect. Re-send from the first unanswered request. */
  OUT_OF_ORDER: later(13),
  /** A queue is full at the server; refused without effect. */
  OVERLOADED: later(14),
  /** The server knows no leader, or has lost its majority; refused without effect. */
  NO_LEADER: later(15),
  /** The leader changed while the request was under way. */
  LEADER_CHANGED: unknown(16),
  /** The server cannot answer yet: it has not applied what the reader has seen elsewhere. */
  NOT_CAUGHT_UP: later(17),
  /** A frame or message is malformed. */
  MALFORMED: definite(18),
  /** Client and server have no protocol version in common. */
  VERSION_MISMATCH: definite(19),
  /** The client names another cluster. */
  WRONG_CLUSTER: definite(20),
  /** The caller may not do that. */
  UNAUTHORIZED: definite(21),
  /** The server is stopping. */
  SHUTTING_DOWN: later(22),
  /** Something belongs to a newer server version. */
  UNSUPPORTED: definite(23),
  /** A server's disk is almost full: what would need more of it is refused without effect, what gives something back is not. */
  DISK_FULL: later(24),
  /** Leadership was not transferred as asked; the message says why. */
  TRANSFER_REFUSED: later(25),
  /** The members were not changed as asked; the message says why. */
  MEMBERSHIP_REFUSED: later(26),
  /** A member has that number or address, or a removed server had the number. */
  MEMBER_EXISTS: definite(27),
  /** The wait was ended to break a deadlock, as its acquire had asked for. */
  DEADLOCK: later(28),
} as const satisfies Record<string, CodeProperties>;

export type ErrorCode = keyof typeof ERROR_CODES;

const names = new Map<number, ErrorCode>(
  (Object.keys(ERROR_CODES) as ErrorCode[]).map((name) => [ERROR_CODES[name].wire, name]),
);

export function errorCodeToWire(code: ErrorCode): number {
  return ERROR_CODES[code].wire;
}

/** Undefined for a number that this version does not know. */
export function errorCodeFromWire(wire: number): ErrorCode | undefined {
  return names.get(wire);
}
