/**
 * One acquire from the call to its one outcome. When the caller gives up, its promise settles at once, and what the ensemble has or
 * will have of the acquire is cancelled in the background: there is never a waiter or a hold that nobody owns.
 */

import { LockKind, type Holder, type Reply } from '@holdfast/protocol';
import { AcquireLimitError, LockLostError, type HoldfastError } from '../errors.ts';
import { errorFromServer } from '../server-error.ts';
import { Request } from '../session/request.ts';
import type { Session } from '../session/session.ts';
import { Settlement } from '../session/settlement.ts';
import type { Limited } from '../session/time-limits.ts';
import type { HeldLock } from './held-lock.ts';

export type AcquireOutcome =
  | { readonly type: 'held'; readonly held: HeldLock }
  /** Somebody holds it, and the acquire was not to wait. */
  | { readonly type: 'lockHeld'; readonly holder: Holder }
  | { readonly type: 'timeout' }
  | { readonly type: 'aborted'; readonly reason: unknown }
  | { readonly type: 'failed'; readonly error: unknown };

/** What an acquire asks of its client's table of waits and holds. */
export interface AcquireKeeper {
  /** It waits at the ensemble. */
  waiting(call: AcquireCall): void;
  /** It was granted: hands the hold out by `grant`, as soon as the lease allows it. */
  granted(call: AcquireCall): void;
  /** Nobody wants it any more: ends the wait, or the hold that it has become. */
  cancel(call: AcquireCall): void;
}

export interface AcquireRequest {
  readonly lock: string;
  /** False: leaves nothing when the lock is not free. */
  readonly wait: boolean;
  readonly expiresAtMs: number;
  readonly signal: AbortSignal | undefined;
}

export class AcquireCall extends Request implements Limited {
  readonly lock: string;
  readonly expiresAtMs: number;
  /** 0 until the ensemble has answered. */
  acquireIndex = 0;
  /** 0 until it was granted. */
  token = 0;
  readonly #session: Session;
  readonly #keeper: AcquireKeeper;
  readonly #settlement: Settlement;
  readonly #resolve: (outcome: AcquireOutcome) => void;

  constructor(
    request: AcquireRequest,
    session: Session,
    keeper: AcquireKeeper,
    resolve: (outcome: AcquireOutcome) => void,
  ) {
    super({ type: 'acquire', lock: request.lock, kind: LockKind.mutex, wait: request.wait });
    this.lock = request.lock;
    this.expiresAtMs = request.expiresAtMs;
    this.#session = session;
    this.#keeper = keeper;
    this.#resolve = resolve;
    this.#settlement = new Settlement(session, this, request.signal, (reason) =>
      this.#giveUp({ type: 'aborted', reason }),
    );
  }

  start(): void {
    const { signal } = this.#settlement;
    this.#settlement.start(
      (error) =>
        this.#resolve(signal?.aborted === true ? { type: 'aborted', reason: error } : { type: 'failed', error }),
      () => this.#session.submit(this),
    );
  }

  answered(reply: Reply): void {
    switch (reply.type) {
      case 'acquire':
        this.acquireIndex = reply.acquireIndex;
        this.token = reply.token;
        if (this.#settlement.settled) this.#keeper.cancel(this);
        else if (reply.token === 0) this.#keeper.waiting(this);
        else this.#keeper.granted(this);
        return;
      case 'lockHeld':
        this.settle({ type: 'lockHeld', holder: reply.holder });
        return;
      case 'error':
        this.settle({ type: 'failed', error: this.#errorFrom(reply) });
        return;
      case 'done':
      case 'created':
      case 'changed':
      case 'cancelled':
      case 'attached':
        this.failed(errorFromServer('UNSUPPORTED', `acquire was answered with ${reply.type}`));
    }
  }

  failed(error: HoldfastError): void {
    this.settle({ type: 'failed', error });
  }

  expire(): void {
    this.#giveUp({ type: 'timeout' });
  }

  /** False when the caller has given up: then the hold is nobody's. */
  settle(outcome: AcquireOutcome): boolean {
    if (!this.#settlement.settle()) return false;
    this.#resolve(outcome);
    return true;
  }

  #giveUp(outcome: AcquireOutcome): void {
    if (!this.settle(outcome)) return;
    if (this.acquireIndex !== 0) this.#keeper.cancel(this);
    // Sent and not answered: `answered` will cancel it.
    else this.#session.withdraw(this);
  }

  #errorFrom(reply: Extract<Reply, { readonly type: 'error' }>): HoldfastError {
    if (reply.code === 'NOT_HELD') return new LockLostError(this.lock, 'revoked');
    const text = `acquire "${this.lock}": ${reply.message}`;
    return reply.code === 'LIMIT_EXCEEDED' ? new AcquireLimitError(text) : errorFromServer(reply.code, text);
  }
}
