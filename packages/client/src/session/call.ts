/**
 * One question on its way to its one outcome: an answer, the failure of what carries it, the end of its time, or its signal. Which of them
 * comes first settles it, and leaves neither a limit of time nor an abort listener behind. How it is carried is up to its channel, and
 * what becomes of it to its subclass: a call and what waits for it are one object.
 */

import type { ErrorCode } from '@holdfast/protocol';
import { offAbort, onAbort } from '@holdfast/runtime';
import { TimeoutError } from '../errors.ts';
import { errorFromServer } from '../server-error.ts';
import type { AnswerSource } from './answer-source.ts';
import type { Instant } from './lease.ts';
import type { Limited, TimeLimits } from './time-limits.ts';

/** What makes calls. */
export interface CallHost {
  readonly limits: TimeLimits;
  /** On the monotonic clock; `undefined` is the client's limit. */
  limitAtMs(timeoutMs: number | undefined): number;
  /** Where it is connected, in words, for messages. */
  describe(): string;
}

/** Carries calls of one kind to their answers, over whichever connection there is. */
export interface Channel<C> {
  readonly host: CallHost;
  /** @throws SessionExpiredError, ClientClosedError, OverloadedError */
  submit(call: C): void;
  /** Nobody waits for the answer any more. False when the call may take effect all the same: it was sent, or will be. */
  withdraw(call: C): boolean;
}

export interface ErrorAnswer {
  readonly type: 'error';
  readonly code: ErrorCode;
  readonly message: string;
}

/** How a call ended that got no answer. */
export type Unanswered =
  | { readonly type: 'failed'; readonly error: unknown }
  | { readonly type: 'timeout'; readonly sent: boolean; readonly mayTakeEffect: boolean }
  | { readonly type: 'aborted'; readonly reason: unknown };

export interface CallLimits {
  /** On the monotonic clock. */
  readonly expiresAtMs: number;
  readonly signal: AbortSignal | undefined;
}

export abstract class Call<Asked, Answer> implements Limited {
  readonly asked: Asked;
  readonly expiresAtMs: number;
  /** What its channel and the server call it; 0 until the channel has given it one. */
  number = 0;
  /** When it was first sent, however often it was sent again: what a lease may count from. */
  sentAt: Instant | undefined;
  /** Out of the queue before it was sent. */
  withdrawn = false;
  readonly #channel: Channel<Call<Asked, Answer>>;
  readonly #signal: AbortSignal | undefined;
  #onAbort: ((reason: unknown) => void) | undefined;
  #settled = false;

  constructor(channel: Channel<Call<Asked, Answer>>, asked: Asked, limits: CallLimits) {
    this.asked = asked;
    this.expiresAtMs = limits.expiresAtMs;
    this.#channel = channel;
    this.#signal = limits.signal;
  }

  start(): void {
    const signal = this.#signal;
    if (signal?.aborted === true) {
      this.#settled = true;
      this.unanswered({ type: 'aborted', reason: signal.reason });
      return;
    }
    this.#channel.host.limits.add(this);
    if (signal !== undefined) {
      this.#onAbort = (reason) => this.giveUp(reason);
      onAbort(signal, this.#onAbort);
    }
    try {
      this.#channel.submit(this);
    } catch (error) {
      this.failed(error);
    }
  }

  /** The final answer, which may come when nobody waits for it any more; called at most once. `source` where the channel knows it. */
  abstract answered(answer: Answer | ErrorAnswer, source?: AnswerSource): void;

  /** No answer will come. If the call had been sent, its outcome is unknown, and the error says so. */
  failed(error: unknown): void {
    if (this.settle()) this.unanswered({ type: 'failed', error });
  }

  /** Nobody waits for it any more, as when its signal aborts with that reason. */
  giveUp(reason: unknown): void {
    if (!this.settle()) return;
    this.withdraw();
    this.unanswered({ type: 'aborted', reason });
  }

  expire(): void {
    if (!this.settle()) return;
    const sent = this.sentAt !== undefined;
    this.unanswered({ type: 'timeout', sent, mayTakeEffect: !this.withdraw() });
  }

  /** Called once, for a call that was settled by anything but an answer. */
  protected abstract unanswered(how: Unanswered): void;

  /** As for the channel. */
  protected withdraw(): boolean {
    return this.#channel.withdraw(this);
  }

  protected get settled(): boolean {
    return this.#settled;
  }

  /** False when it was settled before. */
  protected settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#channel.host.limits.delete(this);
    if (this.#signal !== undefined && this.#onAbort !== undefined) offAbort(this.#signal, this.#onAbort);
    return true;
  }
}

export interface CallOptions {
  /**
   * How long to wait for the answer. A write that was sent by then may still take effect, and the TimeoutError is `indeterminate`.
   * @default the client's `requestTimeoutMs`
   */
  readonly timeoutMs?: number;
  /** Gives up waiting, with the signal's reason; a write that was sent by then may still take effect. */
  readonly signal?: AbortSignal;
}

/** The names of them, for what takes no other options. */
export const CALL_OPTIONS: Record<keyof CallOptions, true> = { timeoutMs: true, signal: true };

export interface AskOptions extends CallOptions {
  /** Is called with where the answer comes from, before the call resolves. */
  readonly onAnswer?: (source: AnswerSource) => void;
}

/** Resolves with the answer; rejects with what an answer `error` stands for. `what` names the call in messages. */
export function ask<Asked, Answer>(
  channel: Channel<Call<Asked, Answer>>,
  asked: Asked,
  what: string,
  options: AskOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => new Ask(channel, asked, { what, options, resolve, reject }).start());
}

/** A call for an answer: calls one of `resolve` and `reject`, once, also for an answer `error`. */
export abstract class Question<Asked, Answer> extends Call<Asked, Answer> {
  readonly #host: CallHost;

  constructor(channel: Channel<Call<Asked, Answer>>, asked: Asked, { timeoutMs, signal }: CallOptions) {
    super(channel, asked, { expiresAtMs: channel.host.limitAtMs(timeoutMs), signal });
    this.#host = channel.host;
  }

  answered(answer: Answer | ErrorAnswer, source?: AnswerSource): void {
    if (!this.settle()) return;
    if (isError(answer)) this.reject(errorFromServer(answer.code, `${this.what}: ${answer.message}`), source);
    else this.resolve(answer, source);
  }

  protected unanswered(how: Unanswered): void {
    switch (how.type) {
      case 'failed':
        this.reject(how.error);
        return;
      case 'timeout': {
        const text = `${this.what}: no answer in time (${this.#host.describe()})`;
        const sent = `the request was ${how.sent ? '' : 'not '}sent`;
        this.reject(new TimeoutError(`${text}; ${sent}`, { indeterminate: how.mayTakeEffect }));
        return;
      }
      case 'aborted':
        this.reject(how.reason);
    }
  }

  /** Names the call in messages. */
  protected abstract get what(): string;
  protected abstract resolve(answer: Answer, source: AnswerSource | undefined): void;
  protected abstract reject(reason: unknown, source?: AnswerSource): void;
}

/** Whose promise it is. */
interface Caller<Answer> {
  readonly what: string;
  readonly options: AskOptions;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

class Ask<Asked, Answer> extends Question<Asked, Answer> {
  readonly #caller: Caller<Answer>;

  constructor(channel: Channel<Call<Asked, Answer>>, asked: Asked, caller: Caller<Answer>) {
    super(channel, asked, caller.options);
    this.#caller = caller;
  }

  protected get what(): string {
    return this.#caller.what;
  }

  protected resolve(answer: Answer, source: AnswerSource | undefined): void {
    if (source !== undefined) this.#caller.options.onAnswer?.(source);
    this.#caller.resolve(answer);
  }

  protected reject(reason: unknown, source?: AnswerSource): void {
    if (source !== undefined) this.#caller.options.onAnswer?.(source);
    this.#caller.reject(reason);
  }
}

/** Sends what nobody waits for; `over` is called when its answer has come, or never will. */
export function send<Asked, Answer>(channel: Channel<Call<Asked, Answer>>, asked: Asked, over: () => void): void {
  new Unawaited(channel, asked, over).start();
}

class Unawaited<Asked, Answer> extends Call<Asked, Answer> {
  readonly #over: () => void;

  constructor(channel: Channel<Call<Asked, Answer>>, asked: Asked, over: () => void) {
    super(channel, asked, { expiresAtMs: Number.POSITIVE_INFINITY, signal: undefined });
    this.#over = over;
  }

  answered(): void {
    if (this.settle()) this.#over();
  }

  protected unanswered(): void {
    this.#over();
  }
}

function isError(answer: unknown): answer is ErrorAnswer {
  return typeof answer === 'object' && answer !== null && 'type' in answer && answer.type === 'error';
}
