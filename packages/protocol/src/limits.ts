/** Every bound that clients and servers agree on. docs/limits.md explains each; a request beyond one gets LIMIT_EXCEEDED or INVALID_ARGUMENT. */

/** Of the protocol between clients and servers. */
/** The highest version of the protocol between clients and servers that this program speaks. */
export const PROTOCOL_VERSION = 1;
/** The lowest. */
export const LOWEST_PROTOCOL_VERSION = 1;

/** One frame in either direction; it must hold the largest reply. */
export const MAX_FRAME_BYTES = 4 * 1024 * 1024;
/** Messages of one frame from a client: each costs the server far more than its few bytes. */
export const MAX_FRAME_MESSAGES = 16_384;
/** Data of one node. */
export const MAX_DATA_BYTES = 1024 * 1024;
/** A whole path, in UTF-16 units. */
export const MAX_PATH_LENGTH = 4096;
/** The same before state version 3. */
export const MAX_EARLY_PATH_LENGTH = 1024;
/** The shortest time to live of a node. */
export const MIN_TTL_MS = 1;
/** The longest, about 35 years. */
export const MAX_TTL_MS = 2 ** 40 - 1;
/** The operations of one transaction, encoded. */
export const MAX_TRANSACTION_BYTES = 1024 * 1024;
/** Containers and nodes with a time to live that one entry removes. */
export const MAX_REMOVALS_PER_ENTRY = 1_000;
/** A lock's name before encoding, in UTF-16 units. */
export const MAX_LOCK_NAME_LENGTH = 256;
/** What a request for a lock carries beside its name, encoded. */
export const MAX_LOCK_PARAMETERS_BYTES = 1024;
/** Permits of one semaphore. */
export const MAX_PERMITS = 1_000_000;
/** Locks that one acquire takes at once. */
export const MAX_LOCKS_AT_ONCE = 64;
/** The longest that the next grant of a lock waits when a hold was lost that had asked for it. */
export const MAX_LOCK_DELAY_MS = 60_000;
/** Steps of a deadlock that are told; a longer one is cut behind them. */
export const MAX_DEADLOCK_STEPS = 16;
/** How long a holder that is asked to release may be given: a day. */
export const MAX_RELEASE_WITHIN_MS = 86_400_000;
/** What a client calls itself, in UTF-16 units. */
export const MAX_LABEL_LENGTH = 256;
/** Name and version of a client's program, each, in UTF-16 units. */
export const MAX_PROGRAM_LENGTH = 64;
/** One proof of who a client is. */
export const MAX_CREDENTIAL_BYTES = 16 * 1024;
/** What an error says, in UTF-16 units; a longer text is cut where it is encoded. */
export const MAX_MESSAGE_LENGTH = 4_096;
/** A session's secret, exactly. */
export const SECRET_BYTES = 16;
/** Its SHA-256, which is all that servers keep of it. */
export const SECRET_HASH_BYTES = 32;
/** The shortest timeout that a session may ask for. */
export const MIN_SESSION_TIMEOUT_MS = 1_000;
/** The longest. */
export const MAX_SESSION_TIMEOUT_MS = 120_000;
/** What a client asks for that names none. */
export const DEFAULT_SESSION_TIMEOUT_MS = 10_000;
/** Requests of one session that are applied and not yet acknowledged by `ackedUpTo`; SDKs stay below half of it. */
export const MAX_REMEMBERED_REPLIES = 2_048;
/** Unanswered requests that an SDK sends before it makes callers wait. */
export const MAX_REQUESTS_IN_FLIGHT = 1_024;
/** Waits and holds of one session together. */
export const MAX_ACQUIRES_PER_SESSION = 10_000;
/** Nodes of one watch message, or unwatch message. */
export const MAX_WATCHES_A_MESSAGE = 1_024;
/** Watches of one connection; a longer path than {@link WATCH_PATH_UNITS} counts as several. */
export const MAX_WATCHES_PER_CONNECTION = 100_000;
/** Begun so many UTF-16 units of its path, a watch counts once. */
export const WATCH_PATH_UNITS = 128;
/** Entries in one page of a listing. */
export const MAX_PAGE_ENTRIES = 1_000;
/** The share by which a client's clock may run slower than the leader's; clients shorten their leases by twice that. */
export const MAX_CLOCK_RATE_ERROR = 0.01;
/** Tokens and indexes stay below this, so that JSON, Lua and doubles keep them exact. */
export const MAX_INDEX = Number.MAX_SAFE_INTEGER;
/** Digits of a token's printed form, which sorts as text. */
export const TOKEN_TEXT_DIGITS = 16;
