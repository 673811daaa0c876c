/** What the store accepts. Every bound is named here, is part of the interface, and is checked before anything changes. */

/** Bytes of a key in UTF-8. */
export const MAX_KEY_BYTES = 512;
/** Characters of a bucket's name. */
export const MAX_BUCKET_NAME_LENGTH = 128;
/** Bytes of one value. */
export const MAX_VALUE_BYTES: number = 16 * 1024 * 1024;
/** Bytes of a value that is written and read in one piece; a larger one goes in chunks, and not in a batch. */
export const MAX_INLINE_VALUE_BYTES: number = 1024 * 1024;
/** Bytes of a chunk of a large value; of one that is being sent or received, so much is in memory, or twice. */
export const VALUE_CHUNK_BYTES: number = 256 * 1024;
/** Large values that are being received at once; one more is refused with OVERLOADED. */
export const MAX_UPLOADS = 256;
/** For how long a client may take to read a chunk of a large value. */
export const VALUE_CHUNK_TIMEOUT_MS = 30_000;
/** Bytes of changes that are remembered for those who follow buckets, of all of them; the oldest are forgotten first. */
export const MAX_HISTORY_BYTES: number = 16 * 1024 * 1024;
/** Connections that follow buckets at once; one more is refused with OVERLOADED. */
export const MAX_FOLLOWERS = 1_024;
/** How often one that follows a bucket hears that the connection lives. */
export const CHANGES_HEARTBEAT_MS = 15_000;
/** The shortest time to live of a key. */
export const MIN_TTL_MS = 1;
/** The longest one: ten years. */
export const MAX_TTL_MS = 315_360_000_000;
/** How often keys are removed whose time to live is over. */
export const EXPIRY_INTERVAL_MS = 1_000;
/** Expired keys that one commit removes. */
export const MAX_EXPIRIES_A_COMMIT = 256;
/** Writes of one batch. */
export const MAX_BATCH_WRITES = 1_000;
/** Bytes of all keys and values of one batch. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** Bytes of a batch's JSON text: base64 takes four bytes for three, and names and escapes need room. */
export const MAX_BATCH_BODY_BYTES = 8 * 1024 * 1024;
/** Bytes of any other JSON body. */
export const MAX_JSON_BODY_BYTES = 4 * 1024;
/** Keys of one page of a list. */
export const MAX_LIST_LIMIT = 1_000;
/** Keys of a page for whoever names no number. */
export const DEFAULT_LIST_LIMIT = 100;
/** Tokens are positive integers below this bound, so that a double holds them exactly. */
export const TOKEN_BOUND = Number.MAX_SAFE_INTEGER + 1;
/**
 * How far above a bucket's highest token the next one may lie. Log indexes, which tokens are, grow by one an entry, and by 2^38 when
 * an ensemble is recovered from one server (`lockd recover`), again where that is repeated: room for three recoveries, and for
 * 2^38 entries that this bucket has not seen.
 */
export const MAX_TOKEN_JUMP: number = 2 ** 40;
/** Characters of the name of a bucket's lock. */
export const MAX_LOCK_NAME_LENGTH = 256;
/** Locks that are looked at at the ensemble at once; for one more the answer is 503. */
export const MAX_LOOKS = 256;
/** How long a look at a lock may take. */
export const LOOK_TIMEOUT_MS = 3_000;
/** Buckets whose highest confirmed token is remembered; of others it is confirmed again. */
export const MAX_CONFIRMED_BUCKETS = 10_000;
/** Writes that wait for a commit; more are refused with OVERLOADED. */
export const MAX_WAITING_COMMITS = 4_096;
/** Writes that one commit takes together. */
export const MAX_GROUP_COMMITS = 1_024;
/** Bytes of request bodies, and of chunks of large values, in memory at once; more are refused with OVERLOADED. */
export const MAX_HELD_BODY_BYTES = 256 * 1024 * 1024;
/** So many of them are kept for requests that hold few: large bodies, however many, keep no small write out. */
export const RESERVED_BODY_BYTES: number = 32 * 1024 * 1024;
/** What such a request holds at most. 256 of them, as many as one address may have, take half of what is kept. */
export const MAX_SMALL_REQUEST_BYTES: number = 64 * 1024;
/** Connections of a server, counted from accept; one more is closed. Fewer where the system allows fewer open files. */
export const MAX_CONNECTIONS = 4_096;
/** Connections of one address, unless it is a loopback one. */
export const MAX_CONNECTIONS_PER_ADDRESS = 256;
/** A server that may have fewer does not start, unless it was set to have no more. */
export const MIN_CONNECTIONS = 32;
/** Open files that connections cannot take: those of the data, the streams, and what Node needs. */
export const RESERVED_DESCRIPTORS = 64;
/** Requests of one connection that wait for their turn before it is read no further. */
export const MAX_WAITING_REQUESTS_OF_CONNECTION = 32;
/** Requests of all connections that wait for their turn; then the connection with the most is closed. */
export const MAX_WAITING_REQUESTS = 8_192;
/** Bytes of answers that clients have not read yet, of all connections; then the one that owes the most is closed. */
export const MAX_UNREAD_BYTES: number = 256 * 1024 * 1024;
/** For how long a client may read nothing of an answer. */
export const UNREAD_TIMEOUT_MS = 10_000;
/** Bytes of the keys of one page of a list; a page ends before them, with `next`, but has one key at least. */
export const MAX_LIST_KEY_BYTES: number = 128 * 1024;
/** How old what `GET /metrics` answers may be: whoever asks meanwhile is given the same. */
export const METRICS_MAX_AGE_MS = 1_000;
/** The shortest time that a primary waits for a silent replica before it removes it. */
export const MIN_REMOVAL_MS = 200;
/** The longest one. */
export const MAX_REMOVAL_MS = 600_000;
/** Bytes of the file with the secret of a group. */
export const MAX_SECRET_FILE_BYTES = 4_096;
/** The shortest session of a replica at the ensemble, which has the same bounds for all. */
export const MIN_SESSION_TIMEOUT_MS = 1_000;
/** The longest one. */
export const MAX_SESSION_TIMEOUT_MS = 120_000;
/** For how long who takes a backup of a running server may take nothing of it. One is taken at a time. */
export const BACKUP_STALL_MS = 60_000;
/** How long a backup waits until this replica knows all of its log to be committed. */
export const BACKUP_WAIT_MS = 10_000;
/** Connections of operators' commands; one more is closed. */
export const MAX_ADMIN_CONNECTIONS = 16;
