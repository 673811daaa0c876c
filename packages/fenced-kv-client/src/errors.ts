/** What the client rejects with: one class for each answer that a caller treats differently, and a base for the rest. */

export interface FencedKvErrorOptions extends ErrorOptions {
  /** The same request may succeed later without anybody changing it. */
  readonly retryable?: boolean;
  /** The write may have happened, or may happen yet. */
  readonly indeterminate?: boolean;
}

export class FencedKvError extends Error {
  /** Stable: a code of the HTTP interface, or CONNECTION, TIMEOUT, ABORTED, PROTOCOL of the client's own. */
  readonly code: string;
  readonly retryable: boolean;
  readonly indeterminate: boolean;

  constructor(code: string, message: string, options: FencedKvErrorOptions = {}) {
    super(message, options);
    this.name = 'FencedKvError';
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.indeterminate = options.indeterminate ?? false;
  }
}

/** A newer holder has been at the bucket. The lock is lost: stop writing, acquire again. */
export class StaleTokenError extends FencedKvError {
  readonly presented: number;
  readonly highest: number;

  constructor(message: string, presented: number, highest: number) {
    super('STALE_TOKEN', message);
    this.name = 'StaleTokenError';
    this.presented = presented;
    this.highest = highest;
  }
}

/** The replica does not serve: another one of its group does, or nobody for a moment. A client that was given the group goes on by itself. */
export class NotPrimaryError extends FencedKvError {
  /** Which one is, or is to be; undefined: it does not know. */
  readonly primary: { readonly replica: string; readonly url: string | null } | undefined;
  /** Of which it knows that. */
  readonly epoch: number;

  constructor(message: string, options: FencedKvErrorOptions & Pick<NotPrimaryError, 'primary' | 'epoch'>) {
    super('NOT_PRIMARY', message, { ...options, retryable: true });
    this.name = 'NotPrimaryError';
    this.primary = options.primary;
    this.epoch = options.epoch;
  }
}

/** Nobody has made the group in this ensemble: its name is another one, it is of another ensemble, or no replica has begun yet. */
export class GroupNotFoundError extends FencedKvError {
  readonly group: string;

  constructor(group: string) {
    super(
      'GROUP_NOT_FOUND',
      `there is no group "${group}" in this ensemble; correct the name or the ensemble, or start its replicas with --replica-of ${group}`,
    );
    this.name = 'GroupNotFoundError';
    this.group = group;
  }
}

/** The bucket is bound to a lock, which has given no such token as the ensemble says: it is of another lock or another ensemble. */
export class TokenNotGrantedError extends FencedKvError {
  readonly presented: number;
  /** What the lock's newest token is at most. */
  readonly newest: number;

  constructor(message: string, presented: number, newest: number) {
    super('TOKEN_NOT_GRANTED', message);
    this.name = 'TokenNotGrantedError';
    this.presented = presented;
    this.newest = newest;
  }
}

/** The bucket takes no writes without a token: use `fencedBy`. */
export class TokenRequiredError extends FencedKvError {
  constructor(message: string) {
    super('TOKEN_REQUIRED', message);
    this.name = 'TokenRequiredError';
  }
}

/** A read carried a token that nobody installed, or whose installation an operator has reset. */
export class TokenNotInstalledError extends FencedKvError {
  readonly presented: number;
  readonly highest: number;

  constructor(message: string, presented: number, highest: number) {
    super('TOKEN_NOT_INSTALLED', message);
    this.name = 'TokenNotInstalledError';
    this.presented = presented;
    this.highest = highest;
  }
}

/** The key is not at the revision that the write demanded. Nothing changed. */
export class PreconditionFailedError extends FencedKvError {
  readonly key: string;
  /** The present revision; null where the key is absent. */
  readonly revision: number | null;

  constructor(message: string, key: string, revision: number | null) {
    super('PRECONDITION_FAILED', message);
    this.name = 'PreconditionFailedError';
    this.key = key;
    this.revision = revision;
  }
}

/** The store does not know any more what came after `from`: read the bucket anew, and follow it from the revision that it had before. */
export class ChangesMissedError extends FencedKvError {
  readonly from: number;
  /** Everything after it is still known. */
  readonly oldest: number;

  constructor(message: string, from: number, oldest: number) {
    super('MISSED', message);
    this.name = 'ChangesMissedError';
    this.from = from;
    this.oldest = oldest;
  }
}
