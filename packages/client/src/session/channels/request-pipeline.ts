/**
 * The numbered requests of a session: 1, 2, 3… without gaps, sent in order, a bounded number of them unanswered. Every request that
 * was sent is sent again, in order, until it is answered; a request that was not sent has no number yet and can be withdrawn.
 */

import { CommandType, MAX_REQUESTS_IN_FLIGHT, encodeCommand } from '@holdfast/protocol';
import type { Command, ErrorCode, Reply } from '@holdfast/protocol';
import type { Clock, Random, Timer } from '@holdfast/runtime';
import { Backoff } from '../../backoff.ts';
import { OverloadedError, type HoldfastError } from '../../errors.ts';
import { invariant } from '../../invariant.ts';
import { ask, type Call, type CallOptions, type Channel } from '../call.ts';
import { FifoQueue } from './fifo-queue.ts';
import { SmallMap } from '../small-map.ts';
import type { Pipeline, Sink } from './pipeline.ts';

/** Payload bytes that are sent and unanswered; one request may always be. */
const MAX_UNANSWERED_BYTES = 8 * 1024 * 1024;
const FIRST_RESEND_DELAY_MS = 10;
const MAX_RESEND_DELAY_MS = 250;

/** A command, encoded once for as often as it is sent. */
export interface EncodedCommand {
  readonly command: number;
  readonly payload: Uint8Array;
}

export type RequestCall = Call<EncodedCommand, Reply>;

export function encoded(command: Command): EncodedCommand {
  return { command: CommandType[command.type], payload: encodeCommand(command) };
}

/** Resolves with the answer; rejects with what an answer `error` stands for. `what` names the command in messages. */
export function callCommand(
  channel: Channel<RequestCall>,
  command: Command,
  what: string,
  options: CallOptions = {},
): Promise<Reply> {
  return callEncoded(channel, encoded(command), what, options);
}

/** The same of one that is encoded already. */
export function callEncoded(
  channel: Channel<RequestCall>,
  command: EncodedCommand,
  what: string,
  options: CallOptions = {},
): Promise<Reply> {
  return ask(channel, command, what, options);
}

export class RequestPipeline implements Pipeline {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #maxQueued: number;
  readonly #queue = new FifoQueue<RequestCall>();
  readonly #unanswered = new SmallMap<number, RequestCall>();
  #unansweredBytes = 0;
  #lastNumber = 0;
  #ackedUpTo = 0;
  /** Since the attachment, or the refusal after which requests are sent again. */
  #lastPosted = 0;
  /** Since the last answer. */
  #refusals = 0;
  #sink: Sink | undefined;
  #resend: { from: number; readonly timer: Timer } | undefined;

  constructor(options: { readonly maxQueued: number }, deps: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = deps.clock;
    this.#maxQueued = options.maxQueued;
    this.#backoff = new Backoff(deps.random, FIRST_RESEND_DELAY_MS, MAX_RESEND_DELAY_MS);
  }

  get unanswered(): number {
    return this.#unanswered.size;
  }

  /** Requests that wait to be sent. */
  get queued(): number {
    return this.#queue.size;
  }

  get idle(): boolean {
    return this.#unanswered.size === 0 && this.#queue.size === 0;
  }

  /** @throws OverloadedError when too many wait already, unless it `mustBeSent`: what gives something back. */
  submit(request: RequestCall, mustBeSent = false): void {
    if (this.#queue.size >= this.#maxQueued && !mustBeSent) {
      throw new OverloadedError(
        `${this.#queue.size} requests of this client wait to be sent already (maxQueuedRequests); slow down and try again`,
      );
    }
    const sink = this.#queue.size === 0 ? this.#open : undefined;
    if (sink === undefined) this.#queue.push(request);
    else this.#send(sink, request);
  }

  /** True when the request never left and never will; otherwise its answer is still to come. */
  withdraw(request: RequestCall): boolean {
    if (request.number !== 0) return false;
    if (!request.withdrawn) {
      request.withdrawn = true;
      this.#queue.withdrew();
    }
    return true;
  }

  /** From now on requests go there, those without an answer first, in order. */
  attached(sink: Sink): void {
    this.#cancelResend();
    this.#sink = sink;
    this.#lastPosted = 0;
    for (const request of this.#unanswered.values()) this.#post(sink, request);
    this.#pump();
  }

  disconnected(): void {
    this.#cancelResend();
    this.#sink = undefined;
  }

  /** The server refused the requests from there on, without using up their numbers. Until they are sent again no new one may pass them. */
  refused(from: number, code: ErrorCode): void {
    if (this.#sink === undefined) return;
    if (this.#resend !== undefined) {
      this.#resend.from = Math.min(this.#resend.from, from);
      return;
    }
    // A gap is filled at once, the first time; everything else needs the ensemble to change first.
    const delayMs = code === 'OUT_OF_ORDER' && this.#refusals === 0 ? 0 : this.#backoff.nextMs();
    this.#refusals += 1;
    this.#resend = { from, timer: this.#clock.setTimer(delayMs, () => this.#resendNow()) };
  }

  /** Undefined for an answer that had come before. */
  answer(number: number): RequestCall | undefined {
    const request = this.#unanswered.get(number);
    if (request === undefined) return undefined;
    this.#unanswered.delete(number);
    this.#unansweredBytes -= request.asked.payload.length;
    while (this.#ackedUpTo < this.#lastNumber && !this.#unanswered.has(this.#ackedUpTo + 1)) this.#ackedUpTo += 1;
    this.#backoff.reset();
    this.#refusals = 0;
    this.#pump();
    return request;
  }

  /** The session is over; `errorOf` makes what requests fail with. */
  end(errorOf: (outcome: string, indeterminate: boolean) => HoldfastError): void {
    this.disconnected();
    const unanswered = [...this.#unanswered.values()];
    const queued = this.#queue.drain().filter((request) => !request.withdrawn);
    this.#unanswered.clear();
    this.#unansweredBytes = 0;
    for (const request of unanswered) {
      request.failed(errorOf('the request had been sent and may have taken effect', true));
    }
    for (const request of queued) request.failed(errorOf('the request was not sent', false));
  }

  #pump(): void {
    while (this.#queue.size > 0) {
      const sink = this.#open;
      const request = sink && this.#queue.shift();
      if (sink === undefined || request === undefined) return;
      this.#send(sink, request);
    }
  }

  #send(sink: Sink, request: RequestCall): void {
    this.#lastNumber += 1;
    request.number = this.#lastNumber;
    this.#unanswered.set(request.number, request);
    this.#unansweredBytes += request.asked.payload.length;
    this.#post(sink, request);
  }

  /** Where the next request may go now; undefined when it must wait. */
  get #open(): Sink | undefined {
    return this.#resend === undefined && this.#windowOpen() ? this.#sink : undefined;
  }

  /** Counted from the oldest unanswered request, since the server remembers every answer from there on. */
  #windowOpen(): boolean {
    return (
      this.#lastNumber - this.#ackedUpTo < MAX_REQUESTS_IN_FLIGHT &&
      (this.#unansweredBytes < MAX_UNANSWERED_BYTES || this.#unanswered.size === 0)
    );
  }

  #post(sink: Sink, request: RequestCall): void {
    const { number, asked } = request;
    const { command, payload } = asked;
    invariant(number > this.#lastPosted, 'requests-are-sent-in-order');
    invariant(number > this.#ackedUpTo, 'only-answered-requests-are-acknowledged');
    this.#lastPosted = number;
    const sentAt = sink.post({ type: 'request', number, ackedUpTo: this.#ackedUpTo, command, payload });
    request.sentAt ??= sentAt;
  }

  #resendNow(): void {
    const from = this.#resend?.from ?? 0;
    this.#resend = undefined;
    const sink = this.#sink;
    if (sink === undefined) return;
    this.#lastPosted = 0;
    for (const request of this.#unanswered.values()) {
      if (request.number >= from) this.#post(sink, request);
    }
    this.#pump();
  }

  #cancelResend(): void {
    this.#resend?.timer.cancel();
    this.#resend = undefined;
  }
}
