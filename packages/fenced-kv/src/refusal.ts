/**
 * Why a request was refused. A refusal is an answer, not a failure: nothing changed, but that PRECONDITION_FAILED may have
 * installed the token, and the same request gets the same answer until somebody else writes. Failures of the store itself are
 * {@link EngineError}s (engine-error.ts).
 */

export type Refusal =
  /** A newer holder has been here. */
  | { readonly code: 'STALE_TOKEN'; readonly presented: number; readonly highest: number }
  /** Further above the highest than any ensemble gets: it would fence every holder off for good. */
  | {
      readonly code: 'TOKEN_JUMP_REFUSED';
      readonly presented: number;
      readonly highest: number;
      readonly limit: number;
    }
  /** The bucket is bound to a lock that has given no such token, as the ensemble says; `newest` is the highest that it may be. */
  | { readonly code: 'TOKEN_NOT_GRANTED'; readonly lock: string; readonly presented: number; readonly newest: number }
  /** It would fence off who holds the lock, as the ensemble says. */
  | { readonly code: 'FLOOR_TOO_HIGH'; readonly lock: string; readonly presented: number; readonly lowest: number }
  /** The server confirms every token, and does not know the lock of this bucket. */
  | { readonly code: 'BUCKET_NOT_BOUND'; readonly bucket: string }
  /** The bucket takes writes with a token only. */
  | { readonly code: 'TOKEN_REQUIRED'; readonly bucket: string }
  /** A read came with a token that was not installed first. */
  | { readonly code: 'TOKEN_NOT_INSTALLED'; readonly presented: number; readonly highest: number }
  /** `If-Match`, `If-None-Match` or `ifRevision` does not hold; `revision` is the present one, null where the key is absent. */
  | { readonly code: 'PRECONDITION_FAILED'; readonly key: string; readonly revision: number | null }
  /** What came after the revision `from` is not all remembered; what came after `oldest` is. */
  | { readonly code: 'MISSED'; readonly bucket: string; readonly from: number; readonly oldest: number }
  | { readonly code: 'BUCKET_NOT_FOUND'; readonly bucket: string }
  | { readonly code: 'KEY_NOT_FOUND'; readonly bucket: string; readonly key: string }
  /** The bucket exists, with another policy or another lock (null: none) than the request says. */
  | {
      readonly code: 'BUCKET_EXISTS';
      readonly bucket: string;
      readonly tokens: TokenPolicy;
      readonly lock: string | null;
    }
  | { readonly code: 'INVALID_ARGUMENT'; readonly argument: string }
  /** Beyond one of the limits of limits.ts. */
  | { readonly code: 'LIMIT_EXCEEDED'; readonly argument: string; readonly limit: number };

export type RefusalCode = Refusal['code'];

/** Whether a bucket demands a token with every write. */
export type TokenPolicy = 'required' | 'optional';

export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, message: string = describeRefusal(refusal)) {
    super(message);
    this.name = 'RefusedError';
    this.refusal = refusal;
  }
}

export function invalidArgument(argument: string, message: string): RefusedError {
  return new RefusedError({ code: 'INVALID_ARGUMENT', argument }, message);
}

export function limitExceeded(argument: string, limit: number, message: string): RefusedError {
  return new RefusedError({ code: 'LIMIT_EXCEEDED', argument, limit }, message);
}

/** What is wrong, with what, and what to do next. */
export function describeRefusal(refusal: Refusal): string {
  switch (refusal.code) {
    case 'STALE_TOKEN':
      return (
        `token ${refusal.presented} is stale: a newer holder installed ${refusal.highest}; ` +
        'stop writing and acquire the lock again'
      );
    case 'TOKEN_JUMP_REFUSED':
      return (
        `token ${refusal.presented} is more than ${refusal.limit} above the highest (${refusal.highest}), which no lock of one ` +
        'ensemble comes to; if it is right, start fenced-kvd with --allow-token-jumps, or raise the highest with ' +
        'fenced-kvd reset-fence <bucket> --to <token>'
      );
    case 'TOKEN_NOT_GRANTED':
      return (
        `token ${refusal.presented} was not given by lock "${refusal.lock}", whose newest is at most ${refusal.newest}; ` +
        'acquire that lock, at the ensemble that this server asks, and send its token'
      );
    case 'FLOOR_TOO_HIGH':
      return (
        `the floor ${refusal.presented} would fence off who holds lock "${refusal.lock}" under token ${refusal.lowest}; ` +
        'send the floor of the hold in the header Fencing-Floor (held.floor)'
      );
    case 'BUCKET_NOT_BOUND':
      return (
        `bucket "${refusal.bucket}" is bound to no lock, and this server takes no new token without asking the ensemble; ` +
        'make it with PUT /v1/buckets/<bucket> {"lock":"<name>"}, or bind it with fenced-kvd bind <bucket> --lock <name>'
      );
    case 'TOKEN_REQUIRED':
      return `bucket "${refusal.bucket}" takes writes with a token only; send the lock's token in the header Fencing-Token`;
    case 'TOKEN_NOT_INSTALLED':
      return (
        `token ${refusal.presented} is not installed (the highest is ${refusal.highest}), so an older holder could still ` +
        'change what is read; install it first with POST /v1/buckets/<bucket>/fence'
      );
    case 'PRECONDITION_FAILED':
      return refusal.revision === null
        ? `key "${refusal.key}" does not exist, which the request's condition demands; read again and decide`
        : `key "${refusal.key}" is at revision ${refusal.revision}, which the request's condition rules out; read again and decide`;
    case 'MISSED':
      return (
        `what changed in bucket "${refusal.bucket}" after revision ${refusal.from} is not remembered any more; ask for the bucket's ` +
        'revision, list its keys, and follow it from that revision'
      );
    case 'BUCKET_NOT_FOUND':
      return `bucket "${refusal.bucket}" does not exist; the first write or installed token creates it`;
    case 'KEY_NOT_FOUND':
      return `key "${refusal.key}" does not exist in bucket "${refusal.bucket}"`;
    case 'BUCKET_EXISTS':
      return (
        `bucket "${refusal.bucket}" exists with tokens ${refusal.tokens} and ` +
        `${refusal.lock === null ? 'no lock' : `lock "${refusal.lock}"`}, which is fixed for its life; use another bucket name`
      );
    case 'INVALID_ARGUMENT':
      return `${refusal.argument} is not valid`;
    case 'LIMIT_EXCEEDED':
      return `${refusal.argument} is beyond the limit of ${refusal.limit}`;
  }
}
