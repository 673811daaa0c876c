/**
 * What a fence rejects with. `code` says what is wrong, `retryable` whether the same call may succeed later, `indeterminate` whether it may
 * have taken effect. `instanceof` works across the copies of this package that several fences in one process bring.
 */

export type FenceErrorCode =
  /** A newer holder has been at the resource. The lock is lost: stop, and acquire it again. */
  | 'STALE_TOKEN'
  /** The resource takes no writes without a token. */
  | 'TOKEN_REQUIRED'
  /** The token is higher than all that the resource was told: whoever holds it has not installed it. */
  | 'TOKEN_NOT_INSTALLED'
  /** An argument is malformed. Nothing was sent. */
  | 'INVALID_ARGUMENT'
  /** The resource lacks what the fence keeps its tokens in. */
  | 'SCHEMA_MISSING'
  /** What the fence keeps its tokens in was made by another version, which this one cannot use. */
  | 'SCHEMA_VERSION'
  /** The resource cannot be reached, or went away. */
  | 'CONNECTION'
  /** A limit of time passed. */
  | 'TIMEOUT'
  /** The signal of the holder or of the call aborted. */
  | 'ABORTED'
  /** The resource refused for a reason of its own, which is the `cause`. */
  | 'RESOURCE';

export interface FenceErrorOptions {
  /** @default true for CONNECTION and TIMEOUT unless `indeterminate`, false for all others */
  readonly retryable?: boolean;
  /** @default false */
  readonly indeterminate?: boolean;
  /** The driver's error. */
  readonly cause?: unknown;
}

/**
 * Every error of a fence, by its `code`.
 *
 * @example
 * try {
 *   await fence(pool, 'jobs', held, work);
 * } catch (error) {
 *   if (error instanceof FenceError && error.indeterminate) await lookWhetherItHappened();
 *   else throw error;
 * }
 */
export class FenceError extends Error {
  static {
    brand(this, 'FenceError');
  }
  readonly code: FenceErrorCode;
  /** The same call may succeed later, without anybody changing it. */
  readonly retryable: boolean;
  /** The write may have happened, or may happen yet: its answer is lost. */
  readonly indeterminate: boolean;

  constructor(code: FenceErrorCode, message: string, options: FenceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.indeterminate = options.indeterminate ?? false;
    this.retryable = options.retryable ?? (!this.indeterminate && (code === 'CONNECTION' || code === 'TIMEOUT'));
  }
}

/**
 * A newer holder has been at the resource: the lock is lost. Nothing was written.
 *
 * @example
 * if (error instanceof StaleTokenError) console.log(`${error.token} < ${error.highest}`);
 */
export class StaleTokenError extends FenceError {
  static {
    brand(this, 'StaleTokenError');
  }
  readonly scope: string;
  /** What the refused holder has. */
  readonly token: number;
  /** The highest floor that the resource was told for the scope. */
  readonly highest: number;

  constructor(scope: string, token: number, highest: number, options: { readonly cause?: unknown } = {}) {
    super(
      'STALE_TOKEN',
      `token ${token} is stale in scope ${JSON.stringify(scope)}, which has seen ${highest}: ` +
        'a newer holder of the lock has been here; stop this work, and acquire the lock again',
      options,
    );
    this.scope = scope;
    this.token = token;
    this.highest = highest;
  }
}

/** Marks instances by a registered symbol, which another copy of this package knows as well; subclasses made elsewhere keep the ordinary check. */
function brand(errorClass: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`@holdfast/fence:${name}`);
  Object.defineProperty(errorClass.prototype, mark, { value: true });
  Object.defineProperty(errorClass.prototype, 'name', { value: name, configurable: true, writable: true });
  Object.defineProperty(errorClass, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this as typeof Error, value);
      return typeof value === 'object' && value !== null && mark in value;
    },
  });
}
