/**
 * Queries on their way to their answers. They change nothing, so they are simply asked again: on a new connection, and when a server
 * cannot answer for the moment.
 */

import {
  ClientFeature,
  hasFeature,
  MAX_EARLY_PATH_LENGTH,
  MAX_REQUESTS_IN_FLIGHT,
  type Answer,
  type Consistency,
  type FeatureSet,
  type Query,
} from '@holdfast/protocol';
import type { Clock, Random } from '@holdfast/runtime';
import { Backoff } from '../../backoff.ts';
import { OverloadedError, type HoldfastError } from '../../errors.ts';
import { LazyTimer } from '../../lazy-timer.ts';
import type { AnswerSource } from '../answer-source.ts';
import { ask, type AskOptions, type Call, type Channel } from '../call.ts';
import { SmallMap } from '../small-map.ts';
import { FifoQueue } from './fifo-queue.ts';
import type { Pipeline, Sink } from './pipeline.ts';

const FIRST_RETRY_DELAY_MS = 10;
const MAX_RETRY_DELAY_MS = 250;

/** A query, and what its answer must show. */
interface Read {
  readonly query: Query;
  readonly consistency: Consistency;
}

export type ReadCall = Call<Read, Answer>;

export interface QueryOptions extends AskOptions {
  /** @default 'linearizable' */
  readonly consistency?: Consistency;
}

/** Resolves with the answer; rejects with what an answer `error` stands for. `what` names the query in messages. */
export function callQuery(
  channel: Channel<ReadCall>,
  query: Query,
  what: string,
  options: QueryOptions = {},
): Promise<Answer> {
  return ask(channel, { query, consistency: options.consistency ?? 'linearizable' }, what, options);
}

export class ReadPipeline implements Pipeline {
  readonly #maxQueued: number;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #retryTimer: LazyTimer;
  readonly #queue = new FifoQueue<ReadCall>();
  readonly #unanswered = new SmallMap<number, ReadCall>();
  #retrying: ReadCall[] = [];
  #lastId = 0;
  #seenIndex = 0;
  #sink: Sink | undefined;

  constructor(options: { readonly maxQueued: number }, deps: { readonly clock: Clock; readonly random: Random }) {
    this.#maxQueued = options.maxQueued;
    this.#clock = deps.clock;
    this.#backoff = new Backoff(deps.random, FIRST_RETRY_DELAY_MS, MAX_RETRY_DELAY_MS);
    this.#retryTimer = new LazyTimer(deps.clock, () => this.#retry());
  }

  /** Reads that a server owes an answer to; those that wait for another try are not among them. */
  get unanswered(): number {
    return this.#unanswered.size - this.#retrying.length;
  }

  /** Reads that have no answer, sent or not. */
  get waiting(): number {
    return this.#unanswered.size + this.#queue.size;
  }

  /** The highest index that any message of the ensemble has shown to this client. */
  get seenIndex(): number {
    return this.#seenIndex;
  }

  saw(index: number): void {
    if (index > this.#seenIndex) this.#seenIndex = index;
  }

  /** @throws OverloadedError when too many wait already. */
  submit(read: ReadCall): void {
    if (this.#queue.size >= this.#maxQueued) {
      throw new OverloadedError(
        `${this.#queue.size} reads of this client wait to be sent already (maxQueuedRequests); slow down and try again`,
      );
    }
    this.#queue.push(read);
    this.#pump();
  }

  /** Its answer will be ignored. True: a read has no effect. */
  withdraw(read: ReadCall): boolean {
    if (read.withdrawn) return true;
    read.withdrawn = true;
    if (read.number === 0) this.#queue.withdrew();
    else this.#finish(read);
    return true;
  }

  connected(sink: Sink): void {
    this.#sink = sink;
    this.#retrying = [];
    this.#retryTimer.stop();
    for (const read of this.#unanswered.values()) this.#post(sink, read);
    this.#pump();
  }

  disconnected(): void {
    this.#sink = undefined;
    this.#retryTimer.stop();
  }

  answer(id: number, answer: Answer, source: AnswerSource): void {
    const read = this.#unanswered.get(id);
    if (read === undefined) return;
    if (answer.type === 'error' && isTemporary(answer.code)) {
      if (this.#retrying.includes(read)) return;
      this.#retrying.push(read);
      this.#retryTimer.ensure(this.#clock.monotonicMs() + this.#backoff.nextMs());
      return;
    }
    this.#backoff.reset();
    this.#finish(read);
    read.answered(answer, source);
  }

  end(error: HoldfastError): void {
    this.disconnected();
    const reads = [...this.#unanswered.values(), ...this.#queue.drain()];
    this.#unanswered.clear();
    this.#retrying = [];
    for (const read of reads) read.failed(error);
  }

  #pump(): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    while (this.#unanswered.size < MAX_REQUESTS_IN_FLIGHT) {
      const read = this.#queue.shift();
      if (read === undefined) return;
      this.#lastId += 1;
      read.number = this.#lastId;
      this.#unanswered.set(read.number, read);
      this.#post(sink, read);
    }
  }

  #finish(read: ReadCall): void {
    this.#unanswered.delete(read.number);
    if (this.#retrying.length > 0) this.#retrying = this.#retrying.filter((other) => other !== read);
    this.#pump();
  }

  #post(sink: Sink, read: ReadCall): void {
    const { number, asked } = read;
    const { consistency, query } = asked;
    const needed = featureOf(query);
    if (needed !== undefined && !hasFeature(sink.features, needed)) {
      this.#unanswered.delete(number);
      const message = 'the server is of an older version that cannot do that; upgrade it';
      read.answered({ type: 'error', code: 'UNSUPPORTED', message });
      return;
    }
    const sentAt = sink.post({ type: 'read', id: number, consistency, minIndex: this.#seenIndex, query });
    read.sentAt ??= sentAt;
  }

  #retry(): void {
    const sink = this.#sink;
    const reads = this.#retrying;
    this.#retrying = [];
    if (sink === undefined) return;
    for (const read of reads) this.#post(sink, read);
  }
}

/** Servers that do not know the feature would close the connection; undefined for what all of them know. */
function featureOf(query: Query): FeatureSet | undefined {
  if (query.type === 'deadlocks' || query.type === 'waitingFor') return ClientFeature.deadlocks;
  if (query.type === 'childrenPage' || query.type === 'descendants') return ClientFeature.pages;
  return 'path' in query && query.path.length > MAX_EARLY_PATH_LENGTH ? ClientFeature.pages : undefined;
}

function isTemporary(code: string): boolean {
  return (
    code === 'NO_LEADER' ||
    code === 'LEADER_CHANGED' ||
    code === 'NOT_CAUGHT_UP' ||
    code === 'OVERLOADED' ||
    code === 'SHUTTING_DOWN'
  );
}
