/** One wish of an operator, with a promise for its answer, a limit of time, and an AbortSignal. */

import type { AdminAnswer, AdminOperation, ErrorCode } from '@holdfast/protocol';
import { TimeoutError, type HoldfastError } from '../errors.ts';
import { errorFromServer } from '../server-error.ts';
import type { AdminRequest } from './admin-calls.ts';
import type { AnswerSource } from './answer-source.ts';
import type { Asker } from './asker.ts';
import type { CallOptions } from './call.ts';
import { Settlement } from './settlement.ts';
import type { Limited } from './time-limits.ts';

export interface AdminOptions extends CallOptions {
  /** Is told where the answer comes from, before the call resolves; `index` is 0 but for the members. */
  readonly onAnswer?: (source: AnswerSource) => void;
}

class AdminCall implements AdminRequest, Limited {
  readonly operation: AdminOperation;
  readonly what: string;
  readonly expiresAtMs: number;
  sent = false;
  lost = false;
  readonly #asker: Asker;
  readonly #onAnswer: AdminOptions['onAnswer'];
  readonly #settle: { resolve(answer: AdminAnswer): void; reject(reason: unknown): void };
  readonly #settlement: Settlement;

  constructor(
    asker: Asker,
    operation: AdminOperation,
    what: string,
    options: AdminOptions,
    settle: { resolve(answer: AdminAnswer): void; reject(reason: unknown): void },
  ) {
    this.#asker = asker;
    this.#onAnswer = options.onAnswer;
    this.operation = operation;
    this.what = what;
    this.#settle = settle;
    this.expiresAtMs = asker.limitAtMs(options.timeoutMs);
    this.#settlement = new Settlement(asker, this, options.signal, (reason) => this.#giveUp(reason));
  }

  start(): void {
    this.#settlement.start(
      (reason) => this.#settle.reject(reason),
      () => this.#asker.submitAdmin(this),
    );
  }

  answered(answer: AdminAnswer, server: Pick<AnswerSource, 'server' | 'address'>): void {
    if (!this.#settlement.settle()) return;
    this.#onAnswer?.({ ...server, index: answer.type === 'members' ? answer.index : 0 });
    if (answer.type === 'error') this.#settle.reject(this.#refusal(answer.code, answer.message));
    else this.#settle.resolve(answer);
  }

  refused(code: ErrorCode, message: string): void {
    if (this.#settlement.settle()) this.#settle.reject(this.#refusal(code, message));
  }

  #refusal(code: ErrorCode, message: string): HoldfastError {
    if (!this.lost || this.operation.type === 'members') return errorFromServer(code, `${this.what}: ${message}`);
    const text = `${this.what}: the connection was lost before the answer, and it may still happen`;
    return errorFromServer('LEADER_CHANGED', `${text}; look at the members and ask again (refused now: ${message})`);
  }

  failed(error: HoldfastError): void {
    if (this.#settlement.settle()) this.#settle.reject(error);
  }

  expire(): void {
    const text = `${this.what}: no answer in time (${this.#asker.describe()})`;
    this.#giveUp(new TimeoutError(text, { indeterminate: this.sent }));
  }

  #giveUp(reason: unknown): void {
    if (!this.#settlement.settle()) return;
    this.#asker.withdrawAdmin(this);
    this.#settle.reject(reason);
  }
}

/** Resolves with the answer; rejects with what an answer `error` stands for. */
export function callAdmin(
  asker: Asker,
  operation: AdminOperation,
  what: string,
  options: AdminOptions = {},
): Promise<AdminAnswer> {
  return new Promise((resolve, reject) => new AdminCall(asker, operation, what, options, { resolve, reject }).start());
}
