/**
 * An operator's wishes on their way to their answers. One that names its outcome may be asked for again through another connection;
 * one that does not has an unknown outcome when its connection is lost, and so has a change that was asked for before and is refused now.
 */

import { ClientFeature, hasFeature } from '@holdfast/protocol';
import type { AdminAnswer, AdminOperation, ErrorCode, FeatureSet } from '@holdfast/protocol';
import type { ServerConnection } from '../connection/server-connection.ts';
import { HoldfastError, OverloadedError } from '../errors.ts';
import type { AnswerSource } from './answer-source.ts';

const MAX_CALLS = 100;

type Sink = Pick<ServerConnection, 'post' | 'features'>;

export interface AdminRequest {
  readonly operation: AdminOperation;
  readonly what: string;
  sent: boolean;
  /** An answer was lost with its connection. */
  lost: boolean;
  answered(answer: AdminAnswer, server: Pick<AnswerSource, 'server' | 'address'>): void;
  refused(code: ErrorCode, message: string): void;
  failed(error: HoldfastError): void;
}

export class AdminCalls {
  readonly #calls = new Map<number, AdminRequest>();
  #sink: Sink | undefined;
  #lastId = 0;

  get unanswered(): number {
    return this.#calls.size;
  }

  /** @throws OverloadedError */
  submit(call: AdminRequest): void {
    if (this.#calls.size >= MAX_CALLS)
      throw new OverloadedError(`${MAX_CALLS} admin calls are unanswered; wait for them`);
    this.#lastId += 1;
    this.#calls.set(this.#lastId, call);
    this.#post(this.#lastId, call);
  }

  withdraw(call: AdminRequest): void {
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

  #post(id: number, call: AdminRequest): void {
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
