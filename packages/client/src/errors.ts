/**
 * What the SDK throws. Every error has a stable `code`, says whether the same call may succeed later (`retryable`) and whether the
 * request may have taken effect (`indeterminate`). `instanceof` works across two copies of this package in one process.
 */

import { ERROR_CODES, type DeadlockStep, type EndReason, type ErrorCode } from '@holdfast/protocol';
import { describeDeadlock, locksText, type LockWait } from './locks/waits/lock-wait.ts';

/** The protocol's codes, and those that only a client can find. */
export type HoldfastErrorCode =
  | ErrorCode
  /** The hold is over, or may be. */
  | 'LOCK_LOST'
  /** The caller's limit passed before the answer came. */
  | 'TIMEOUT'
  /** No server could be reached. */
  | 'CONNECTION_FAILED'
  /** `close()` was called. */
  | 'CLIENT_CLOSED'
  /** A watch cannot tell all that has happened. */
  | 'MISSED_EVENTS'
  /** An operator wants a lock back. */
  | 'RELEASE_REQUESTED';

export interface HoldfastErrorOptions {
  readonly code: HoldfastErrorCode;
  readonly retryable?: boolean;
  readonly indeterminate?: boolean;
  readonly cause?: unknown;
}

export class HoldfastError extends Error {
  static {
    brand(this, 'HoldfastError');
  }
  readonly code: HoldfastErrorCode;
  /** The same call may succeed later, without anybody changing it. */
  readonly retryable: boolean;
  /** The request may have taken effect, or may still do so. */
  readonly indeterminate: boolean;

  constructor(message: string, options: HoldfastErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    const known = options.code in ERROR_CODES ? ERROR_CODES[options.code as ErrorCode] : undefined;
    this.retryable = options.retryable ?? known?.retryable ?? false;
    this.indeterminate = options.indeterminate ?? known?.indeterminate ?? false;
  }
}

/**
 * Why a hold is over. `expired`: the session was not renewed in time, so another may be granted the lock. `revoked`: an operator took
 * it. `closed`: this client was closed. `released`: the handle was given back.
 */
export type LockLossReason = EndReason | 'released';

/** The lock is not held any more, or cannot be known to be. Writes under its token are what the resource must refuse. */
export class LockLostError extends HoldfastError {
  static {
    brand(this, 'LockLostError');
  }
  /** Of several locks that were held at once, the first. */
  readonly lock: string;
  /** All that were held at once, and are lost together. */
  readonly locks: readonly string[];
  readonly reason: LockLossReason;

  /** `advice`: what to do about it, for the message. */
  constructor(
    lost: string | readonly string[],
    reason: LockLossReason,
    options: { readonly cause?: unknown; readonly advice?: string } = {},
  ) {
    const [lock = '', ...others] = typeof lost === 'string' ? [lost] : lost;
    const subject = others.length === 0 ? `lock "${lock}" is` : `${locksText([lock, ...others])} are`;
    const advice = options.advice === undefined ? '' : `; ${options.advice}`;
    super(`${subject} not held any more: ${LOSS_TEXT[reason]}${advice}`, {
      code: 'LOCK_LOST',
      retryable: false,
      indeterminate: false,
      cause: options.cause,
    });
    this.lock = lock;
    this.locks = [lock, ...others];
    this.reason = reason;
  }
}

const LOSS_TEXT: Readonly<Record<LockLossReason, string>> = {
  expired: 'the session was not renewed in time; another client may hold the lock now',
  revoked: 'an operator has ended the hold',
  closed: 'the client was closed',
  released: 'the hold was released',
};

/**
 * A wait with `deadlockPolicy: 'abort-youngest'` was in a deadlock, and has ended. What this client holds is still held, and may be what others wait
 * for: give that back, and take the locks again from the first one on.
 *
 * @example
 * if (error instanceof DeadlockError) console.log(error.cycle.map(({ label, holds, waitsFor }) => `${label}: ${holds} -> ${waitsFor}`));
 */
export class DeadlockError extends HoldfastError {
  static {
    brand(this, 'DeadlockError');
  }
  /** What it waited for; of several locks at once, the first. */
  readonly lock: string;
  /** All that it waited for. */
  readonly locks: readonly string[];
  /**
   * Sessions in a ring: each holds what the one before waits for, and the first what the last one waits for. It begins with this client's wait,
   * unless that is only before another's in a queue (`behind`). Of a long one at most sixteen are told.
   */
  readonly cycle: readonly DeadlockStep[];

  constructor(locks: readonly string[], cycle: readonly DeadlockStep[]) {
    const advice = 'give back what you hold, and take the locks again from the first one on';
    super(`the wait for ${locksText(locks)} has ended: ${describeDeadlock(cycle)}; ${advice}`, { code: 'DEADLOCK' });
    const [lock = ''] = locks;
    this.lock = lock;
    this.locks = locks;
    this.cycle = cycle;
  }
}

/** An operator has asked for a lock that this client holds: the reason of `held.releaseRequested`, which holds on until it is released. */
export class ReleaseRequestedError extends HoldfastError {
  static {
    brand(this, 'ReleaseRequestedError');
  }

  constructor(message: string) {
    super(message, { code: 'RELEASE_REQUESTED', retryable: false, indeterminate: false });
  }
}

/** The ensemble has ended the session, and with it this client: `connect` makes a new one. */
export class SessionExpiredError extends HoldfastError {
  static {
    brand(this, 'SessionExpiredError');
  }

  constructor(message: string, options: { readonly indeterminate?: boolean; readonly cause?: unknown } = {}) {
    super(message, { code: 'SESSION_EXPIRED', ...options });
  }
}

/** `close()` was called, before the call or while it was under way. The session had not expired: the client gave it up. */
export class ClientClosedError extends HoldfastError {
  static {
    brand(this, 'ClientClosedError');
  }

  constructor(message: string, options: { readonly indeterminate?: boolean; readonly cause?: unknown } = {}) {
    super(message, { code: 'CLIENT_CLOSED', ...options });
  }
}

/** The caller's limit (`waitMs`, `timeoutMs`) passed. `indeterminate` when a write had left and its answer was still to come. */
export class TimeoutError extends HoldfastError {
  static {
    brand(this, 'TimeoutError');
  }
  /** Of a wait for a lock: who had it and how many were before. Undefined for other calls, and where the ensemble did not say it in time. */
  readonly wait: LockWait | undefined;

  constructor(
    message: string,
    options: { readonly indeterminate: boolean; readonly cause?: unknown; readonly wait?: LockWait | undefined },
  ) {
    super(message, { code: 'TIMEOUT', retryable: true, ...options });
    this.wait = options.wait;
  }
}

/** No server could be reached, or every one refused this client. */
export class ConnectionError extends HoldfastError {
  static {
    brand(this, 'ConnectionError');
  }

  constructor(message: string, options: Partial<HoldfastErrorOptions> = {}) {
    super(message, { code: 'CONNECTION_FAILED', ...(options.code === undefined && { retryable: true }), ...options });
  }
}

/** An argument is malformed; nothing was sent, or the server refused it without effect. */
export class InvalidArgumentError extends HoldfastError {
  static {
    brand(this, 'InvalidArgumentError');
  }

  constructor(message: string, options: Partial<HoldfastErrorOptions> = {}) {
    super(message, { code: 'INVALID_ARGUMENT', ...options });
  }
}

/** The node, session or lock does not exist. */
export class NotFoundError extends HoldfastError {
  static {
    brand(this, 'NotFoundError');
  }
}

/** A node exists at that path. */
export class NodeExistsError extends HoldfastError {
  static {
    brand(this, 'NodeExistsError');
  }
}

/** The node's version is not the one demanded. */
export class BadVersionError extends HoldfastError {
  static {
    brand(this, 'BadVersionError');
  }
}

/** The node has children. */
export class NotEmptyError extends HoldfastError {
  static {
    brand(this, 'NotEmptyError');
  }
}

/**
 * Nothing of a transaction was done, because of one of its operations. `code` is that operation's, and `cause` the error that the same
 * operation alone would have ended with.
 */
export class TransactionFailedError extends HoldfastError {
  static {
    brand(this, 'TransactionFailedError');
  }
  /** Its place in the transaction; the first is 0. */
  readonly operation: number;
  readonly path: string;

  constructor(
    message: string,
    options: {
      readonly code: HoldfastErrorCode;
      readonly operation: number;
      readonly path: string;
      readonly cause: unknown;
    },
  ) {
    super(message, options);
    this.operation = options.operation;
    this.path = options.path;
  }
}

/** A documented limit would be exceeded. */
export class LimitExceededError extends HoldfastError {
  static {
    brand(this, 'LimitExceededError');
  }

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { code: 'LIMIT_EXCEEDED', ...options });
  }
}

/** This session waits for and holds as many locks as one may, or a reentrant lock was entered as often as its `limit` says. */
export class AcquireLimitError extends LimitExceededError {
  static {
    brand(this, 'AcquireLimitError');
  }
}

/**
 * Nothing was done, for lack of room. `code` OVERLOADED: a queue is full, here or at the server; slow down and try again.
 * DISK_FULL: a server's disk is almost full; until somebody frees space there, only what gives something back is taken.
 */
export class OverloadedError extends HoldfastError {
  static {
    brand(this, 'OverloadedError');
  }

  constructor(message: string, options: { readonly code?: 'OVERLOADED' | 'DISK_FULL'; readonly cause?: unknown } = {}) {
    super(message, { code: 'OVERLOADED', ...options });
  }
}

/** The caller may not do that. */
export class UnauthorizedError extends HoldfastError {
  static {
    brand(this, 'UnauthorizedError');
  }
}

/**
 * A watch is over, since events behind the index `from` and up to `to` are lost: the client was away for longer than servers remember
 * changes, or did not take them. Read anew what matters, and watch from there; or ask for `onMissed: 'resync'`, and the watch goes on.
 */
export class MissedEventsError extends HoldfastError {
  static {
    brand(this, 'MissedEventsError');
  }
  readonly path: string;
  readonly from: number;
  readonly to: number;

  constructor(path: string, from: number, to: number) {
    super(
      `the watch of ${path} has missed what happened behind index ${from} and up to ${to}; read anew, and watch from there`,
      { code: 'MISSED_EVENTS', retryable: false, indeterminate: false },
    );
    this.path = path;
    this.from = from;
    this.to = to;
  }
}

/** Marks instances by a registered symbol, which another copy of this package knows as well; subclasses made elsewhere keep the ordinary check. */
function brand(errorClass: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`@holdfast/client:${name}`);
  Object.defineProperty(errorClass.prototype, mark, { value: true });
  Object.defineProperty(errorClass.prototype, 'name', { value: name, configurable: true, writable: true });
  Object.defineProperty(errorClass, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this as typeof Error, value);
      return typeof value === 'object' && value !== null && mark in value;
    },
  });
}
