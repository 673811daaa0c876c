/**
 * What operators ask of servers, on its way to its answers. An operation that names its outcome may be asked for again through another
 * connection; one that does not has an unknown outcome when its connection is lost, and so has a change that was asked for before and
 * is refused now.
 */

import { ClientFeature, hasFeature } from '@holdfast/protocol';
import type { AdminAnswer, AdminOperation, ErrorCode, FeatureSet } from '@holdfast/protocol';
import { OverloadedError, type HoldfastError } from '../../errors.ts';
import type { AnswerSource } from '../answer-source.ts';
import { ask, type Call, type CallOptions, type Channel } from '../call.ts';
import type { Pipeline, Sink } from './pipeline.ts';

const MAX_CALLS = 100;

export type AdminCall = Call<AdminOperation, AdminAnswer>;

/**
 * Limits of an operator's question.
 *
 * @example
 * await client.admin.members({ timeoutMs: 2_000 });
 */
export interface AdminOptions extends CallOptions {
  /** Is called with where the answer comes from, before the call resolves; `index` is 0 but for the members. */
  readonly onAnswer?: (source: AnswerSource) => void;
}

/** Resolves with the answer; rejects with what an answer `error` stands for. `what` names the operation in messages. */
export function callAdmin(
  channel: Channel<AdminCall>,
  operation: AdminOperation,
  what: string,
  options: AdminOptions = {},
): Promise<AdminAnswer> {
  return ask(channel, operation, what, options);
}

export class AdminPipeline implements Pipeline {
  readonly #calls = new Map<number, AdminCall>();
  /** Calls an answer to which was lost with its connection. */
  readonly #uncertain = new Set<AdminCall>();
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
    call.number = this.#lastId;
    this.#calls.set(call.number, call);
    this.#post(call);
  }

  /** True when the call never left and never will. */
  withdraw(call: AdminCall): boolean {
    this.#forget(call);
    return call.sentAt === undefined;
  }

  connected(sink: Sink): void {
    this.#sink = sink;
    for (const call of this.#calls.values()) this.#post(call);
  }

  disconnected(): void {
    this.#sink = undefined;
    for (const call of this.#calls.values()) {
      if (call.sentAt === undefined) continue;
      if (isRepeatable(call.asked)) this.#uncertain.add(call);
      else this.#refuse(call, 'LEADER_CHANGED', 'the connection was lost before the answer');
    }
  }

  answer(id: number, answer: AdminAnswer, server: Pick<AnswerSource, 'server' | 'address'>): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    const source = { ...server, index: answer.type === 'members' ? answer.index : 0 };
    if (answer.type === 'error') this.#refuse(call, answer.code, answer.message, source);
    else {
      this.#forget(call);
      call.answered(answer, source);
    }
  }

  /** Nobody is asked any more for now; what was asked of a server that is lost may still happen. */
  refuseAll(code: ErrorCode, message: string): void {
    for (const call of this.#calls.values()) this.#refuse(call, code, message);
  }

  end(error: HoldfastError): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#uncertain.clear();
    this.#sink = undefined;
    for (const call of calls) call.failed(error);
  }

  #post(call: AdminCall): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    if (hasFeature(sink.features, featureOf(call.asked))) {
      const sentAt = sink.post({ type: 'admin', id: call.number, operation: call.asked });
      call.sentAt ??= sentAt;
    } else this.#refuse(call, 'UNSUPPORTED', 'the server is of an older version that cannot do that; upgrade it');
  }

  #refuse(call: AdminCall, code: ErrorCode, message: string, source?: AnswerSource): void {
    const mayStillHappen = this.#uncertain.has(call) && call.asked.type !== 'members';
    this.#forget(call);
    if (mayStillHappen) {
      const text =
        'the connection was lost before the answer, and it may still happen; look at the members and ask again';
      call.answered({ type: 'error', code: 'LEADER_CHANGED', message: `${text} (refused now: ${message})` }, source);
    } else call.answered({ type: 'error', code, message }, source);
  }

  #forget(call: AdminCall): void {
    this.#calls.delete(call.number);
    this.#uncertain.delete(call);
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
    case 'change-membership':
      return ClientFeature.members;
  }
}
