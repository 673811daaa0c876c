/**
 * An operator's wishes on their way to their answers. One that names its outcome may be asked for again through another connection;
 * one that does not has an unknown outcome when its connection is lost, and so has a change that was asked for before and is refused now.
 */

import { ClientFeature, hasFeature } from '@holdfast/protocol';
import type { AdminAnswer, AdminOperation, ErrorCode, FeatureSet } from '@holdfast/protocol';
import type { ServerConnection } from '../connection/server-connection.ts';
import { HoldfastError, OverloadedError, TimeoutError } from '../errors.ts';
import { errorFromServer } from '../server-error.ts';
import type { Asker, AnswerSource } from './asker.ts';
import type { CallOptions } from './call.ts';
import { Settlement } from './settlement.ts';
import type { Limited } from './time-limits.ts';

const MAX_CALLS = 100;

type Sink = Pick<ServerConnection, 'post' | 'features'>;

export class AdminCalls {
  readonly #calls = new Map<number, AdminCall>();
  #sink: Sink | undefined;
  #lastId = 0;

  get unanswered(): number {
    return this.#calls.size;
  }

  /** @throws OverloadedError */
  submit(call: AdminCall): void {
    if (this.#calls.size >= MAX_CALLS)
      throw new OverloadedError(`${MAX_CALLS} admin calls are unanswered; wait for them`);
    this.#lastId += 1;
    this.#calls.set(this.#lastId, call);
    this.#post(this.#lastId, call);
  }

  withdraw(call: AdminCall): void {
    for (const [id, each] of this.#calls) if (each === call) this.#calls.delete(id);
  }

  connected(sink: Sink): void {
    this.#sink = sink;
    for (const [id, call] of this.#calls) this.#post(id, call);
  }

  disconnected(): void {
    this.#sink = undefined;
    for (const [id, call] of this.#calls) {
      if (!call.sent) continue;
      call.lost = true;
      if (isRepeatable(call.operation)) continue;
      this.#calls.delete(id);
      call.failed(
        new HoldfastError(`${call.what}: the connection was lost before the answer`, { code: 'LEADER_CHANGED' }),
      );
    }
  }

  answer(id: number, answer: AdminAnswer, server: Pick<AnswerSource, 'server' | 'address'>): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.answered(answer, server);
  }

  /** Nobody is asked any more for now; what was asked of a server that is lost may still happen. */
  refuse(code: ErrorCode, message: string): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.refused(code, message);
  }

  end(error: HoldfastError): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#sink = undefined;
    for (const call of calls) call.failed(error);
  }

  #post(id: number, call: AdminCall): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    if (hasFeature(sink.features, featureOf(call.operation))) {
      call.sent = true;
      sink.post({ type: 'admin', id, operation: call.operation });
      return;
    }
    this.#calls.delete(id);
    call.refused('UNSUPPORTED', 'the server is of an older version that cannot do that; upgrade it');
  }
}

/** One that names its outcome. */
function isRepeatable(operation: AdminOperation): boolean {
  return operation.type !== 'transfer' || operation.server !== 0;
}

function featureOf(operation: AdminOperation): FeatureSet {
  switch (operation.type) {
    case 'transfer':
      return ClientFeature.admin;
    case 'members':
      return operation.local ? ClientFeature.outage : ClientFeature.members;
    case 'change-members':
      return ClientFeature.members;
  }
}

export interface AdminOptions extends CallOptions {
  /** Is told where the answer comes from, before the call resolves; `index` is 0 but for the members. */
  readonly onAnswer?: (source: AnswerSource) => void;
}

export class AdminCall implements Limited {
  readonly operation: AdminOperation;
  readonly what: string;
  readonly expiresAtMs: number;
  sent = false;
  /** An answer was lost with its connection. */
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
