/** Every bound of one server. What clients and servers agree on is in the protocol's limits; docs/limits.md explains each. */

import { MAX_DATA_BYTES, MAX_PATH_LENGTH, MAX_REQUESTS_IN_FLIGHT } from '@holdfast/protocol';

/** A connection that has not said hello by then is closed. */
export const HANDSHAKE_TIMEOUT_MS = 5_000;
/** After a goodbye a client has this long to read it; then its connection is destroyed. */
export const CLOSE_GRACE_MS = 1_000;
export const MAX_CONNECTIONS = 20_000;
/** Requests of one connection that are not answered; SDKs stay at half of it. More closes the connection. */
export const MAX_UNANSWERED_REQUESTS = 2 * MAX_REQUESTS_IN_FLIGHT;
/** Reads of one connection that are not answered; more are answered OVERLOADED. */
export const MAX_UNANSWERED_READS = 1_024;
/** Heartbeats of one connection that are not acknowledged; more are dropped, as if they had been lost. */
export const MAX_UNANSWERED_HEARTBEATS = 64;
/** Bytes that wait for one client to read them; more closes its connection. */
export const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;
/** Payload of one command: the largest node with the longest path, in UTF-8. More closes the connection. */
export const MAX_COMMAND_BYTES = MAX_DATA_BYTES + 3 * MAX_PATH_LENGTH + 64;
/** Requests and attaches that wait for a leader to be known, in number and in bytes; more are refused with OVERLOADED. */
export const MAX_PARKED_ENTRIES = 20_000;
export const MAX_PARKED_BYTES = 32 * 1024 * 1024;
/** Proposals of a leader that wait for clients whom it has just answered, in number and in bytes; with more they go at once. */
export const MAX_GATHERED_ENTRIES = 128;
export const MAX_GATHERED_BYTES = 64 * 1024;
/** How long they wait at most; a shorter commit makes it shorter. A timer of the event loop may add a millisecond. */
export const MAX_GATHER_MS = 5;
/** Linearizable reads that wait for a leader to be known; more are answered NO_LEADER. */
export const MAX_PARKED_READS = 20_000;
/** One application message to a peer carries at most this much, or one entry. */
export const MAX_PEER_PAYLOAD_BYTES = 1024 * 1024;
/** How long a `session` read waits until this server has applied what the client has seen elsewhere. */
export const SESSION_READ_WAIT_MS = 1_000;
/** When a read is asked again that the leader refused; sooner when the leader changes. */
export const READ_RETRY_MS = 50;
/** How often an attach that could not be proposed is tried again while a leader is known. */
export const ATTACH_RETRY_MS = 100;
/** Resolution of session expiry. A later timer than this means that the leader stalled. */
export const LEASE_TICK_MS = 50;
/** Folds are compared at every multiple of this index. */
export const FOLD_INTERVAL = 1_024;
/** Multiples that are kept for the comparison. */
export const FOLD_HISTORY = 8;
/** A wish for another leader is answered within this time; it takes one election timeout, or a moment. */
export const TRANSFER_ANSWER_MS = 10_000;
/** Wishes for another leader that are not answered; more are refused with OVERLOADED. */
export const MAX_UNANSWERED_TRANSFERS = 64;
/** A wish about the members is answered within this time; a promotion waits for its server to catch up. */
export const MEMBERS_ANSWER_MS = 60_000;
/** How long a change of the members waits for what hinders it, as another change does. */
export const MEMBER_CHANGE_WAIT_MS = 5_000;
/** When a wish about the members is tried again that could not be told to a leader, or done by it. */
export const MEMBERS_RETRY_MS = 50;
/** Wishes about the members that are not answered; more are refused with OVERLOADED. */
export const MAX_UNANSWERED_MEMBER_WISHES = 64;
/** How long a server that stops goes on serving clients that it has told to leave. */
export const LEAVE_WAIT_MS = 2_000;
/**
 * So far behind everything that a recovered directory knows does the new cluster begin: more than the old one can have given out since,
 * a million tokens a second for twelve days.
 */
export const RECOVERY_INDEX_GAP = 2 ** 40;
/** No new cluster begins behind it: half of all indexes are left to it. */
export const MAX_RECOVERY_INDEX = 2 ** 52;
/** How often a leader looks whether every member can apply entries by the next state version. */
export const STATE_UPGRADE_CHECK_MS = 1_000;
/** So often in a row they all must offer it before the leader raises it. */
export const STATE_UPGRADE_CHECKS = 10;
/** How often the free space of the disk is asked. */
export const DISK_CHECK_INTERVAL_MS = 1_000;
/**
 * What must be free beyond the log's present segment before new writes are taken: the log that may be proposed and not committed,
 * what arrives until the next check, and room for the next segment. See {@link diskReserveBytes}.
 */
const DISK_RESERVE_BASE_BYTES = 128 * 1024 * 1024;
/** The resume mark, as a multiple of the reserve. */
export const DISK_RESUME_FACTOR = 1.25;
/** Refusals that a leader writes into the log between two checks; further requests are asked for again. */
export const MAX_DISK_REFUSALS = 256;
/** A leader whose disk is low tries to hand over once in this time. */
export const DISK_HAND_OVER_PAUSE_MS = 10_000;

export function diskReserveBytes(segmentBytes: number): number {
  return DISK_RESERVE_BASE_BYTES + segmentBytes;
}
