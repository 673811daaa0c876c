/** Every bound of one server. What clients and servers agree on is in the protocol's limits; docs/limits.md explains each. */

import { MAX_DATA_BYTES, MAX_PATH_LENGTH, MAX_REQUESTS_IN_FLIGHT } from '@holdfast/protocol';

/** A connection that has not said hello by then is closed. */
export const HANDSHAKE_TIMEOUT_MS = 5_000;
/** What a connection may send in all before its hello is accepted; more closes it. */
export const MAX_GREETING_BYTES = 4 * 1024;
/** After a goodbye a client has this long to read it; then its connection is destroyed. */
export const CLOSE_GRACE_MS = 1_000;
/** Sockets of clients, from accept on, upgraded or not; one more is closed at once. Fewer where the system allows fewer open files. */
export const MAX_CONNECTIONS = 20_000;
/** A server that may have no more than these does not start. */
export const MIN_CONNECTIONS = 32;
/** Open files and sockets that clients cannot take: the log and snapshots, and the connections of the other servers. */
export const RESERVED_DESCRIPTORS = 128;
/** Of {@link MAX_CONNECTIONS}, from one address, unless set otherwise; from this machine itself there may be any number. */
export const MAX_CONNECTIONS_PER_ADDRESS = 256;
/**
 * Clients that lose a server all at once spread their first dials over so long for each session of the ensemble. That is two thousand
 * a second, which the servers that are left greet and attach beside everything else.
 */
export const SPREAD_PER_SESSION_MS = 0.5;
/** But over no more than this; a client takes at most a sixth of its session's timeout. */
export const MAX_SPREAD_MS = 20_000;
/**
 * Clients that were welcomed and whose attach is not answered yet. With more, or more than were attached within the last second, others
 * are sent away with a time to come again.
 */
export const MIN_ADMITTED = 200;
/** As many attaches a second are assumed until they have been measured. */
export const ASSUMED_ATTACHES_PER_S = 500;
/** A client that has not asked to be attached by then is not waited for. */
export const ADMISSION_IDLE_MS = 1_000;
/** No client is asked to come again later than this. */
export const MAX_COME_AGAIN_MS = 10_000;
/** Requests of one connection that are not answered; SDKs stay at half of it. More closes the connection. */
export const MAX_UNANSWERED_REQUESTS = 2 * MAX_REQUESTS_IN_FLIGHT;
/**
 * Bytes of unanswered requests at all servers together, shared evenly among them. Less than a leader may have uncommitted (64 MiB). At a
 * server a connection may have twice as many as are left.
 */
export const MAX_UNANSWERED_REQUEST_BYTES = 60 * 1024 * 1024;
/** At one server, however many there are: the largest command has to fit into a connection's share several times. */
export const MIN_UNANSWERED_REQUEST_BYTES = 8 * 1024 * 1024;
/** Messages of all connections together that are handled in the turn of the event loop in which they come... */
export const MAX_MESSAGES_A_TURN = 2_048;
/** ...and of one connection in any case. So many of one are handled before the next one's, when more wait. */
export const MIN_MESSAGES_A_TURN = 32;
/** After a turn for messages that waited, the loop is left to everything else for so many times as long. */
export const MESSAGE_REST_FACTOR = 1;
/** Bytes of frames whose messages wait for their turn, of all connections; then the one with the most of them is closed. */
export const MAX_DEFERRED_FRAME_BYTES = 16 * 1024 * 1024;
/** Reads of one connection that are not answered; more are answered OVERLOADED. */
export const MAX_UNANSWERED_READS = 1_024;
/** Heartbeats of one connection that are not acknowledged; more are dropped, as if they had been lost. */
export const MAX_UNANSWERED_HEARTBEATS = 64;
/** Bytes that wait for one client to read them; more closes its connection. */
export const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;
/** The same without a session: the largest answer behind {@link MAX_UNREAD_BEFORE_ANSWER_BYTES}, and as much of anything else. */
export const MAX_SESSIONLESS_BUFFERED_BYTES = 8 * 1024 * 1024;
/** While a client has more than this to read, its reads wait. */
export const MAX_UNREAD_BEFORE_ANSWER_BYTES = 1024 * 1024;
/** Bytes that wait for all clients together; beyond it the connection with most of them is cut off. */
export const MAX_UNREAD_BYTES = 256 * 1024 * 1024;
/** A client that reads nothing of what it was sent for so long is cut off, in looks of a second. */
export const MAX_UNREAD_SECONDS = 10;
/** How soon a client that has much to read is looked at again, at first, when its reads wait for that. */
export const BEHIND_LOOK_MS = 5;
/** The same, in the end. */
export const MAX_BEHIND_LOOK_MS = 100;
/** A connection without a session that has nothing under way and says nothing is closed after so many looks... */
export const MAX_IDLE_LOOKS = 6;
/** ...each so long after the other. */
export const IDLE_LOOK_MS = 5_000;
/** Payload of one command: the largest node with the longest path, in UTF-8. More closes the connection. */
export const MAX_COMMAND_BYTES = MAX_DATA_BYTES + 3 * MAX_PATH_LENGTH + 64;
/** Requests and attaches that wait for a leader to be known; more are refused with OVERLOADED. */
export const MAX_PARKED_ENTRIES = 20_000;
/** Bytes of these; more are refused likewise. */
export const MAX_PARKED_BYTES = 32 * 1024 * 1024;
/** Proposals of a leader that wait for clients whom it has just answered; with more they go at once. */
export const MAX_BATCHED_ENTRIES = 128;
/** Bytes of these; with more they go at once. */
export const MAX_BATCHED_BYTES = 64 * 1024;
/** How long they wait at most; a shorter commit makes it shorter. A timer of the event loop may add a millisecond. */
export const MAX_BATCH_WAIT_MS = 5;
/** Linearizable reads that wait for a leader to be known; more are answered NO_LEADER. */
export const MAX_PARKED_READS = 20_000;
/** One application message to a peer carries at most this much, or one entry. */
export const MAX_PEER_PAYLOAD_BYTES = 1024 * 1024;
/** Reads are answered for so long in one turn of the event loop, and at least one; the rest is left to the next turns. */
export const READ_TURN_MS = 2;
/** How long a `session` read waits until this server has applied what the client has seen elsewhere. */
export const SESSION_READ_WAIT_MS = 1_000;
/** When a read is asked again that the leader refused; sooner when the leader changes. */
export const READ_RETRY_MS = 50;
/** Living sessions that clients at one address have made at this server. Those of its own machine are not counted unless a setting says so. */
export const MAX_SESSIONS_PER_ADDRESS = 10_000;
/** How often an attach that could not be proposed is tried again while a leader is known. */
export const ATTACH_RETRY_MS = 100;
/** Resolution of session expiry. A later timer than this means that the leader stalled. */
export const LEASE_TICK_MS = 50;
/** By so much a deadline moves on while a crowd of sessions is on its way back. */
export const LEASE_EXTENSION_MS = 250;
/** Of the timeout: a session that nobody renews has ended by then. So it is however the leader stalled and whoever came back. */
export const MAX_LEASE_FACTOR = 2;
/** So many attaches within a second, in the whole ensemble, are a crowd on its way back. */
export const CROWD_ATTACHES = 100;
/** When the removal of what is left of a session is proposed again that could not be. */
export const END_RETRY_MS = 50;
/** How long a container is empty before the leader removes it, unless a setting says otherwise. */
export const DEFAULT_CONTAINER_CHECK_MS = 60_000;
/** A setting may say at most a day. */
export const MAX_CONTAINER_CHECK_MS = 86_400_000;
/** How late an unused node may be proposed for removal; none is so early. */
export const UNUSED_TICK_MS = 500;
/** Between one entry that removes unused nodes and the next, so that others go on in between. */
export const UNUSED_PAUSE_MS = 50;
/** Nodes that a new leader looks at in one piece, to learn when they go... */
export const UNUSED_NODES_AT_ONCE = 5_000;
/** ...and how long it leaves the event loop to everything else after each. */
export const UNUSED_LOOK_MS = 10;
/** How late a hold may be revoked that was not released in time; none is so early. */
export const RELEASE_TICK_MS = 200;
/** Holds that are revoked so at once; the next ones a tick later. */
export const RELEASES_AT_ONCE = 100;
/** UTF-16 units of all paths in one entry that removes unused nodes, or one path. */
export const MAX_REMOVAL_PATH_UNITS = 128 * 1024;
/** How late the end of a lock's delay may be proposed; none is so early. */
export const LOCK_DELAY_TICK_MS = 50;
/** Delays that are proposed to be ended at one look. */
export const MAX_LOCK_DELAYS_A_TICK = 1_000;
/** When the end of a delay is proposed again that could not be. */
export const LOCK_DELAY_RETRY_MS = 50;
/** Holders of one lock are told that its floor has risen, and that others wait, at most so often. */
export const HOLD_NEWS_INTERVAL_MS = 100;
/** Holds that are looked at for that in one turn of the event loop... */
export const HOLD_NEWS_A_TURN = 2_000;
/** ...and how long the loop is left to everything else then. */
export const HOLD_NEWS_PAUSE_MS = 5;
/** Locks whose holders are to be told; with more, all holders of this server are looked at instead. */
export const MAX_LOCKS_WITH_NEWS = 10_000;
/** State digests are compared at every multiple of this index. */
export const STATE_DIGEST_INTERVAL = 1_024;
/** Multiples that are kept for the comparison. */
export const STATE_DIGEST_HISTORY = 8;
/** A transfer of leadership is answered within this time; it takes one election timeout, or a moment. */
export const TRANSFER_ANSWER_MS = 10_000;
/** Requests of operators for a leader that are not answered; more are refused with OVERLOADED. */
export const MAX_UNANSWERED_ADMIN_REQUESTS = 64;
/** A request about the members is answered within this time; a promotion waits for its server to catch up. */
export const MEMBERS_ANSWER_MS = 60_000;
/** A server that waits to be added makes a new join secret so often; the one before still counts. */
export const JOIN_SECRET_PERIOD_MS = 30 * 60 * 1_000;
/** How long an admin request waits for what blocks it, as an unfinished change of the members does. */
export const ADMIN_WAIT_MS = 5_000;
/** When an admin request is tried again that could not be forwarded to a leader, or was blocked there. */
export const ADMIN_RETRY_MS = 50;
/** How long a server that stops goes on serving clients that it has asked to leave. */
export const LEAVE_WAIT_MS = 2_000;
/**
 * So far behind everything that a recovered directory knows does the new cluster begin. That is more than the old one can have given
 * out since: a hundred thousand tokens a second for a month. A fenced store takes three of these gaps at once (its MAX_TOKEN_JUMP is 2^40).
 */
export const RECOVERY_INDEX_GAP = 2 ** 38;
/** No new cluster begins behind it: half of all indexes are left to it. */
export const MAX_RECOVERY_INDEX = 2 ** 52;
/** How often a leader looks whether every member can apply entries by the next state version. */
export const STATE_UPGRADE_CHECK_MS = 1_000;
/** So often in a row they all must offer it before the leader raises it. */
export const STATE_UPGRADE_CHECKS = 10;
/** How often the first leader of a new ensemble looks, which raises the version when all have offered a later one once. */
export const FOUNDING_CHECK_MS = 20;
/** How long an ensemble counts as new, from when its first leader leads. */
export const FOUNDING_MS = 60_000;
/** How often the free space of the disk is asked. */
export const DISK_CHECK_INTERVAL_MS = 1_000;
/**
 * What must be free beyond the log's present segment before new writes are taken. It is for the log that may be proposed and not
 * committed, what arrives until the next check, and room for the next segment. See {@link diskReserveBytes}.
 */
const DISK_RESERVE_BASE_BYTES = 128 * 1024 * 1024;
/** The resume mark, as a multiple of the reserve. */
export const DISK_RESUME_FACTOR = 1.25;
/** Refusals that a leader writes into the log between two checks; further requests are asked for again. */
export const MAX_DISK_REFUSALS = 256;
/** Sessions that are to give something back and that a server lets in between two checks, while a disk is almost full. */
export const MAX_DISK_SESSIONS = 32;
/** Between a leader's heartbeats, unless set otherwise. */
export const DEFAULT_HEARTBEAT_MS = 100;
/** Once to twice this time without a leader the others elect one, unless set otherwise. */
export const DEFAULT_ELECTION_TIMEOUT_MS = 1_000;

/** A leader whose disk is low tries to transfer leadership once in this time. */
export const DISK_TRANSFER_PAUSE_MS = 10_000;

/** Watches of all connections; one on a longer path than WATCH_PATH_UNITS counts as several. */
export const MAX_WATCHES = 4_000_000;
/** UTF-16 units of all paths of one watch message. */
export const MAX_WATCHED_PATH_UNITS_A_MESSAGE = 256 * 1024;
/** Bytes of changes of nodes that a server remembers for clients that come back, unless set otherwise. */
export const DEFAULT_WATCH_HISTORY_BYTES = 32 * 1024 * 1024;
/** It is kept in pieces of this size... */
export const HISTORY_CHUNK_BYTES = 256 * 1024;
/** ...or, where it is to be small, of this one at least. */
export const MIN_HISTORY_CHUNK_BYTES = 16 * 1024;
/** Bytes that wait for one client to read them, beyond which it is told no more of what it watches until it has read. */
export const MAX_UNREAD_EVENT_BYTES = 4 * 1024 * 1024;
/** Events of one index for one connection; more closes it. */
export const MAX_EVENTS_BYTES = 1024 * 1024;
/** How long a watch message waits until this server has applied what the client was told elsewhere. */
export const WATCH_WAIT_MS = 1_000;
/** Bytes of watch messages that wait so, of all connections; more are refused with OVERLOADED. */
export const MAX_WAITING_WATCH_BYTES = 64 * 1024 * 1024;
/** Of one connection: all the watches that it may have, with short paths. */
export const MAX_WAITING_WATCH_BYTES_PER_CONNECTION = 16 * 1024 * 1024;

export function diskReserveBytes(segmentBytes: number): number {
  return DISK_RESERVE_BASE_BYTES + segmentBytes;
}
