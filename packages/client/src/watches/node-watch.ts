/**
 * One watch as an application uses it: an iterator over what happens at a node, until it is left. It survives the loss of its server; what
 * it knows of servers is an index, up to which it was told.
 */

import type { Answer, Consistency, NodeEventType, Query } from '@holdfast/protocol';
import { offAbort, onAbort } from '@holdfast/runtime';
import { ClientClosedError, MissedEventsError } from '../errors.ts';

/**
 * Something has happened to the node at `path`; several changes of one entry have one index.
 *
 * @example
 * for await (const event of client.nodes.watch('/config')) if (event.type !== 'resync') console.log(event.path, event.index);
 */
export interface NodeChangeEvent {
  /** `children`: one of its children came or went. */
  readonly type: NodeEventType;
  readonly path: string;
  /** Of the entry that has done it; behind the history of a server, an index by which it was done. */
  readonly index: number;
}

/**
 * What happened up to `index` cannot be told: read anew what matters, and go on with the next event.
 *
 * @example
 * for await (const event of client.nodes.watch('/config')) if (event.type === 'resync') console.log('read it again');
 */
export interface ResyncEvent {
  readonly type: 'resync';
  /** That is watched. */
  readonly path: string;
  /** Everything up to there was told. */
  readonly from: number;
  readonly index: number;
}

/**
 * What a watch tells: a change, or that changes may be missing.
 *
 * @example
 * const log = (event: NodeWatchEvent): void => console.log(event.type, event.index);
 */
export type NodeWatchEvent = NodeChangeEvent | ResyncEvent;

/**
 * What is watched, and what ends it.
 *
 * @example
 * for await (const event of client.nodes.watch('/config', { recursive: true, signal: stop.signal })) console.log(event.path);
 */
export interface WatchOptions {
  /** Every node below it as well, each at its own path, and without `children`. @default false */
  readonly recursive?: boolean;
  /**
   * Tells what has happened behind that index, such as that of an earlier event or of a stat.
   * @default what happens from now on; `started` says when that is
   */
  readonly from?: number;
  /**
   * What to do when events are lost, since the client was away for too long, or did not take them: throw MissedEventsError, or go on with an
   * event `resync`. @default 'error'
   */
  readonly onMissed?: 'error' | 'resync';
  /** Ends the watch; the iterator throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** How long it may take until the watch has started. @default the client's `requestTimeoutMs` */
  readonly timeoutMs?: number;
}

/** Events that the application has not taken; with more they are missed. */
export const MAX_UNTAKEN_EVENTS = 10_000;

/** What is read of the node in the step in which it is watched. */
export interface WatchRead {
  readonly query: Query;
  readonly consistency: Consistency;
}

export type WatchKindUsed = 'persistent' | 'recursive';

export interface WatchOwner {
  /** Nobody wants its events any more. */
  left(watch: NodeWatch): void;
}

type Waiter = {
  resolve(result: IteratorResult<NodeWatchEvent, undefined>): void;
  reject(error: unknown): void;
};

const DONE: IteratorResult<NodeWatchEvent, undefined> = { done: true, value: undefined };

/**
 * What happens at a node, from when it was made until the loop over it is left. Made by `nodes.watch`.
 *
 * @example
 * for await (const event of client.nodes.watch('/config', { recursive: true })) console.log(event.type);
 */
export class NodeWatch implements AsyncIterableIterator<NodeWatchEvent, undefined>, AsyncDisposable {
  readonly path: string;
  /** Resolves with an index: every event behind it comes. Rejects with what keeps the watch from starting, be it that it is left. */
  readonly started: Promise<number>;
  /** @internal */
  readonly kind: WatchKindUsed;
  /** @internal Everything up to there was told, or need not be; 0 while the beginning is not known. */
  cursor: number;
  /** @internal What its client had seen when it was made. */
  readonly madeAt: number;
  /** @internal Where it begins was asked for. */
  readonly explicit: boolean;
  /** @internal */
  readonly read: WatchRead | undefined;
  /** @internal What was read with its start; undefined where that was not done. */
  first: { readonly answer: Answer; readonly index: number } | undefined;
  /** @internal */
  hasStarted = false;
  readonly #owner: WatchOwner;
  readonly #resyncs: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (reason: unknown): void => this.fail(reason);
  #start: { resolve(index: number): void; reject(error: unknown): void } | undefined;
  #untaken: NodeWatchEvent[] = [];
  #waiters: Waiter[] = [];
  #over = false;
  #error: { readonly error: unknown } | undefined;

  /** @internal Use `nodes.watch`. */
  constructor(path: string, options: WatchOptions, madeAt: number, owner: WatchOwner, read?: WatchRead) {
    this.path = path;
    this.kind = options.recursive === true ? 'recursive' : 'persistent';
    this.explicit = options.from !== undefined;
    this.cursor = options.from ?? 0;
    this.madeAt = madeAt;
    this.read = read;
    this.#owner = owner;
    this.#resyncs = options.onMissed === 'resync';
    this.#signal = options.signal;
    this.started = new Promise((resolve, reject) => {
      this.#start = { resolve, reject };
    });
    // Whoever iterates hears of it there.
    this.started.catch(() => undefined);
    if (this.#signal !== undefined) onAbort(this.#signal, this.#onAbort);
  }

  /** The next event; done when the watch was left. Rejects with what has ended it. */
  next(): Promise<IteratorResult<NodeWatchEvent, undefined>> {
    const event = this.#untaken.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    const failure = this.#error;
    if (failure !== undefined) {
      this.#error = undefined;
      return Promise.reject(failure.error);
    }
    if (this.#over) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
  }

  /** Leaves the watch, as the end of a loop does. */
  return(): Promise<IteratorResult<NodeWatchEvent, undefined>> {
    this.#end();
    this.#untaken = [];
    return Promise.resolve(DONE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @internal */
  begun(index: number): void {
    this.hasStarted = true;
    this.#start?.resolve(index);
    this.#start = undefined;
  }

  /** @internal What has happened up to that index is not told, or not any more. */
  skipTo(index: number): void {
    this.cursor = Math.max(this.cursor, index);
    this.#untaken = this.#untaken.filter((event) => event.type === 'resync' || event.index > index);
  }

  /** @internal Not called for what it was told before. */
  tell(event: NodeChangeEvent): void {
    if (this.#over) return;
    if (this.#untaken.length >= MAX_UNTAKEN_EVENTS) {
      const [oldest] = this.#untaken;
      const from = oldest?.type === 'resync' ? oldest.from : (oldest?.index ?? event.index) - 1;
      this.#untaken = [];
      this.missed(from, event.index);
      return;
    }
    this.#give(event);
  }

  /** @internal Events behind `from` and up to `through` are lost. */
  missed(from: number, through: number): void {
    if (this.#over) return;
    if (this.#resyncs) this.#give({ type: 'resync', path: this.path, from, index: through });
    else this.fail(new MissedEventsError(this.path, from, through));
  }

  /** @internal Ends it; what it was told before is given out first. */
  fail(error: unknown): void {
    if (this.#over) return;
    this.#start?.reject(error);
    this.#start = undefined;
    const [waiter] = this.#waiters.splice(0, 1);
    if (waiter === undefined) this.#error = { error };
    else waiter.reject(error);
    this.#end();
  }

  #give(event: NodeWatchEvent): void {
    const [waiter] = this.#waiters.splice(0, 1);
    if (waiter === undefined) this.#untaken.push(event);
    else waiter.resolve({ done: false, value: event });
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#signal !== undefined) offAbort(this.#signal, this.#onAbort);
    this.#start?.reject(new ClientClosedError(`the watch of ${this.path} was left before it had started`));
    this.#start = undefined;
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE);
    this.#owner.left(this);
  }
}
