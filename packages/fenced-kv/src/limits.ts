/** What the store accepts. Every bound is named here, is part of the interface, and is checked before anything changes. */

/** Bytes of a key in UTF-8. */
export const MAX_KEY_BYTES = 512;
/** Characters of a bucket's name. */
export const MAX_BUCKET_NAME_LENGTH = 128;
/** Bytes of one value. */
export const MAX_VALUE_BYTES = 1024 * 1024;
/** Writes of one batch. */
export const MAX_BATCH_WRITES = 1_000;
/** Bytes of all keys and values of one batch. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** Bytes of a batch's JSON text: base64 takes four bytes for three, and names and escapes need room. */
export const MAX_BATCH_BODY_BYTES = 8 * 1024 * 1024;
/** Bytes of any other JSON body. */
export const MAX_JSON_BODY_BYTES = 4 * 1024;
/** Keys of one page of a list; the default is {@link DEFAULT_LIST_LIMIT}. */
export const MAX_LIST_LIMIT = 1_000;
export const DEFAULT_LIST_LIMIT = 100;
/** Tokens are positive integers below this bound, so that a double holds them exactly. */
export const TOKEN_BOUND = Number.MAX_SAFE_INTEGER + 1;
/** Writes that wait for a commit; more are refused with OVERLOADED. */
export const MAX_WAITING_COMMITS = 4_096;
/** Writes that one commit takes together. */
export const MAX_GROUP_COMMITS = 1_024;
/** Bytes of request bodies held in memory at once; more are refused with OVERLOADED. */
export const MAX_HELD_BODY_BYTES = 256 * 1024 * 1024;
