/** What the client rejects with: one class for each answer that a caller treats differently, and a base for the rest. */

/**
 * What an error says of itself.
 *
 * @example
 * throw new FencedKvError('TIMEOUT', 'no answer', { retryable: true, indeterminate: true });
 */
export interface FencedKvErrorOptions extends ErrorOptions {
  /** The same request may succeed later without anybody changing it. */
  readonly retryable?: boolean;
  /** The write may have happened, or may happen yet. */
  readonly indeterminate?: boolean;
}

/**
 * What every call rejects with.
 *
 * @example
 * try {
 *   await bucket.put('42', 'value');
 * } catch (error) {
 *   if (error instanceof FencedKvError && error.indeterminate) console.warn('it may have been written');
 * }
 */
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

/**
 * A newer holder has been at the bucket. The lock is lost: stop writing, acquire again.
 *
 * @example
 * try {
 *   await bucket.put('42', 'value');
 * } catch (error) {
 *   if (error instanceof StaleTokenError) console.warn(error.presented, error.highest); // the lock is lost
 * }
 */
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

/**
 * The bucket takes no writes without a token: use `fencedBy`.
 *
 * @example
 * if (error instanceof TokenRequiredError) await bucket.fencedBy(held);
 */
export class TokenRequiredError extends FencedKvError {
  constructor(message: string) {
    super('TOKEN_REQUIRED', message);
    this.name = 'TokenRequiredError';
  }
}

/**
 * A read carried a token that nobody installed, or whose installation an operator has reset.
 *
 * @example
 * if (error instanceof TokenNotInstalledError) await bucket.fencedBy(held);
 */
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

/**
 * The key is not at the revision that the write demanded. Nothing changed.
 *
 * @example
 * try {
 *   await bucket.put('42', 'value', { ifRevision: null });
 * } catch (error) {
 *   if (error instanceof PreconditionFailedError) console.log(error.revision); // somebody was faster
 * }
 */
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
