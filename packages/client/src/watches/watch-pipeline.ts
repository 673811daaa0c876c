/**
 * Keeps the watches of a client at whichever server it is connected to. Each frame with events says up to where they tell, and so does each
 * renewal: that is what the next server is asked to go on from. What comes through one connection counts only for what was
 * confirmed there; so nothing is told twice, and nothing is passed over.
 */

import { ClientFeature, describeFeatures, hasFeature, parentPath } from '@holdfast/protocol';
import type { ErrorCode, NodeEvent, ServerMessage } from '@holdfast/protocol';
import type { Clock, Random } from '@holdfast/runtime';
import { Backoff } from '../backoff.ts';
import { HoldfastError, TimeoutError } from '../errors.ts';
import { LazyTimer } from '../lazy-timer.ts';
import { errorFromServer } from '../server-error.ts';
import type { CallHost } from '../session/call.ts';
import type { Pipeline, Sink } from '../session/channels/pipeline.ts';
import { NodeWatch, type WatchKindUsed, type WatchOptions, type WatchOwner, type WatchRead } from './node-watch.ts';
import { Subscription, inMessages, keyOf, tells, type WatchRequest } from './subscription.ts';

const FIRST_RETRY_DELAY_MS = 20;
const MAX_RETRY_DELAY_MS = 500;

type Message<T extends ServerMessage['type']> = Extract<ServerMessage, { type: T }>;

export interface WatchPipelineDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly host: CallHost;
  /** The highest index that the client has seen. */
  seenIndex(): number;
}

export class WatchPipeline implements Pipeline, WatchOwner {
  readonly #deps: WatchPipelineDeps;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Those without an answer, through the present connection. */
  readonly #requests = new Map<number, WatchRequest>();
  #unwatches = 0;
  #sink: Sink | undefined;
  /** Up to where everything was told that the present server has confirmed. */
  #through = 0;
  #lastId = 0;
  readonly #backoff: Backoff;
  readonly #retryTimer: LazyTimer;
  /** Why a watch has not started yet that is being tried. */
  #lastRefusal: HoldfastError | undefined;

  constructor(deps: WatchPipelineDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps.random, FIRST_RETRY_DELAY_MS, MAX_RETRY_DELAY_MS);
    this.#retryTimer = new LazyTimer(deps.clock, () => this.#register());
  }

  get unanswered(): number {
    return this.#requests.size + this.#unwatches;
  }

  /** The path and the options are good. */
  watch(path: string, options: WatchOptions, read?: WatchRead): NodeWatch {
    options.signal?.throwIfAborted();
    const watch = new NodeWatch(path, options, this.#deps.seenIndex(), this, read);
    const key = keyOf(watch.kind, path);
    const subscription = this.#subscriptions.get(key) ?? new Subscription(watch.kind, path);
    this.#subscriptions.set(key, subscription);
    this.#limit(watch, options.timeoutMs);
    this.#join(subscription, watch);
    return watch;
  }

  left(watch: NodeWatch): void {
    const key = keyOf(watch.kind, watch.path);
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined) return;
    subscription.watches.delete(watch);
    // One that is not confirmed is ended when it is.
    if (subscription.watches.size > 0 || (subscription.request !== undefined && !subscription.confirmed)) return;
    this.#subscriptions.delete(key);
    this.#unwatch(subscription);
  }

  connected(sink: Sink): void {
    this.disconnected();
    this.#sink = sink;
    this.#register();
  }

  disconnected(): void {
    this.#sink = undefined;
    this.#retryTimer.stop();
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.confirmed) subscription.told(this.#through);
      else if (subscription.request !== undefined)
        subscription.told(subscription.request.through, subscription.request);
      subscription.confirmed = false;
      subscription.request = undefined;
      this.#forgetUnwanted(subscription);
    }
    this.#requests.clear();
    this.#unwatches = 0;
    this.#through = 0;
  }

  /** No server serves this client any more. */
  end(error: HoldfastError): void {
    this.disconnected();
    for (const { watches } of this.#subscriptions.values()) for (const watch of watches) watch.fail(error);
  }

  /** @param through undefined: it says nothing of watches */
  renewed(through: number | undefined): void {
    if (through !== undefined) this.#through = Math.max(this.#through, through);
  }

  watching({ id, index, existing, answer }: Message<'watching'>): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(id);
    this.#backoff.reset();
    this.#through = Math.max(this.#through, index);
    if (request.reader !== undefined && answer !== undefined) {
      // Told what happened since it was made, which the answer shows.
      request.reader.first = { answer, index };
      request.reader.skipTo(index);
    }
    for (const [at, subscription] of request.subscriptions.entries()) {
      subscription.existed = ((existing[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
      subscription.confirmed = true;
      if (subscription.watches.size === 0) {
        this.#subscriptions.delete(keyOf(subscription.kind, subscription.path));
        this.#unwatch(subscription);
        continue;
      }
      const begin = request.from === 0 ? index : request.from;
      let again = false;
      for (const watch of subscription.watches) {
        // It has joined the others when they had asked already, and wants to hear of more.
        if (watch.explicit && !watch.hasStarted && watch.cursor < begin) {
          again = true;
          continue;
        }
        if (!watch.hasStarted) watch.begun(watch.cursor === 0 ? index : watch.cursor);
        watch.cursor = Math.max(watch.cursor, index);
      }
      if (again) this.#again(subscription);
    }
  }

  refused({ id, code, message }: Message<'watch-refused'>): void {
    const request = this.#requests.get(id);
    if (request === undefined) {
      this.#unwatches = Math.max(0, this.#unwatches - 1);
      return;
    }
    this.#requests.delete(id);
    const error = errorFromServer(code, `watch: ${message}`);
    for (const subscription of request.subscriptions) {
      subscription.request = undefined;
      this.#forgetUnwanted(subscription);
    }
    if (isTemporary(code)) {
      this.#lastRefusal = error;
      // It has waited at the server; meanwhile nothing else may show what the watch has not told.
      if (code === 'NOT_CAUGHT_UP') this.#register();
      else this.#retryTimer.ensure(this.#deps.clock.monotonicMs() + this.#backoff.nextMs());
      return;
    }
    for (const { watches } of request.subscriptions) for (const watch of watches) watch.fail(error);
  }

  unwatched(): void {
    this.#unwatches = Math.max(0, this.#unwatches - 1);
  }

  events({ id, through, events }: Message<'events'>): void {
    const request = id === 0 ? undefined : this.#requests.get(id);
    if (id !== 0 && request === undefined) return;
    for (const event of events) this.#tell(event, through, request);
    if (request === undefined) this.#through = Math.max(this.#through, through);
    else request.through = Math.max(request.through, through);
  }

  missed({ id, from, through }: Message<'missed'>): void {
    const request = id === 0 ? undefined : this.#requests.get(id);
    if (id !== 0 && request === undefined) return;
    const concerned = request?.subscriptions ?? [...this.#subscriptions.values()].filter(({ confirmed }) => confirmed);
    for (const subscription of concerned) {
      if (subscription.kind !== 'recursive') continue;
      for (const watch of subscription.watches) {
        if (request !== undefined && !tells(request, watch)) continue;
        const begin = Math.max(from, watch.cursor);
        // Nothing was promised to one that has not started, unless it names where it is to begin.
        const counts = watch.hasStarted || watch.explicit;
        watch.cursor = Math.max(watch.cursor, through);
        if (counts && begin < through) watch.missed(begin, through);
      }
    }
  }

  #tell(event: NodeEvent, index: number, request: WatchRequest | undefined): void {
    const told = { type: event.type, path: event.path, index };
    const at = (kind: WatchKindUsed, path: string): void => {
      const subscription = this.#subscriptions.get(keyOf(kind, path));
      if (subscription === undefined) return;
      if (request === undefined ? !subscription.confirmed : subscription.request !== request) return;
      if (!subscription.hears(event)) return;
      subscription.saw(event);
      for (const watch of subscription.watches) {
        const isTold = request === undefined || tells(request, watch);
        if (isTold && index > watch.cursor) watch.tell(told);
      }
    };
    at('persistent', event.path);
    at('recursive', event.path);
    for (let path = event.path; path !== '/';) {
      path = parentPath(path);
      at('recursive', path);
    }
  }

  #join(subscription: Subscription, watch: NodeWatch): void {
    const { confirmed } = subscription;
    subscription.watches.add(watch);
    if (confirmed && watch.explicit && watch.cursor < this.#through) {
      this.#again(subscription);
    } else if (confirmed) {
      watch.cursor = Math.max(watch.cursor, this.#through);
      watch.begun(watch.cursor);
    } else if (subscription.request === undefined) {
      this.#register();
    } else if (subscription.request.from !== 0 && !watch.explicit) {
      watch.cursor = watch.madeAt;
    }
  }

  #forgetUnwanted({ kind, path, watches }: Subscription): void {
    if (watches.size === 0) this.#subscriptions.delete(keyOf(kind, path));
  }

  /** Watches it anew, from further back: who has heard of that leaves it out. */
  #again(subscription: Subscription): void {
    for (const watch of subscription.watches) {
      if (watch.hasStarted) watch.cursor = Math.max(watch.cursor, this.#through);
    }
    this.#unwatch(subscription);
    subscription.confirmed = false;
    subscription.request = undefined;
    this.#register();
  }

  #register(): void {
    const sink = this.#sink;
    if (sink === undefined || this.#retryTimer.armed) return;
    const waiting = [...this.#subscriptions.values()].filter(({ request }) => request === undefined);
    if (waiting.length === 0) return;
    if (!hasFeature(sink.features, ClientFeature.watches)) {
      this.#unsupported(waiting);
      return;
    }
    const minIndex = this.#deps.seenIndex();
    for (const { from, subscriptions, reader } of inMessages(waiting)) {
      this.#lastId += 1;
      const request: WatchRequest = { id: this.#lastId, from, subscriptions, reader, through: 0 };
      this.#requests.set(request.id, request);
      for (const subscription of subscriptions) {
        subscription.request = request;
        subscription.sent = true;
        if (from === 0) continue;
        for (const watch of subscription.watches) if (watch.cursor === 0) watch.cursor = watch.madeAt;
      }
      const nodes = subscriptions.map(({ kind, path, existed }) => ({ kind, path, existed }));
      const read = reader?.read === undefined ? {} : { read: reader.read };
      sink.post({ type: 'watch', id: request.id, from, minIndex: from === 0 ? minIndex : 0, nodes, ...read });
    }
  }

  #unwatch({ kind, path, confirmed }: Subscription): void {
    if (!confirmed || this.#sink === undefined) return;
    this.#lastId += 1;
    this.#unwatches += 1;
    this.#sink.post({ type: 'unwatch', id: this.#lastId, nodes: [{ kind, path }] });
  }

  /** A server of an earlier version. Who has started goes on at the next one that knows watches. */
  #unsupported(subscriptions: readonly Subscription[]): void {
    const text = `the server has no watches (${describeFeatures(ClientFeature.watches)}); upgrade it first`;
    const error = new HoldfastError(text, { code: 'UNSUPPORTED' });
    for (const { watches } of subscriptions) {
      for (const watch of watches) if (!watch.hasStarted) watch.fail(error);
    }
  }

  #limit(watch: NodeWatch, timeoutMs: number | undefined): void {
    const { host } = this.#deps;
    const limit = {
      expiresAtMs: host.limitAtMs(timeoutMs),
      expire: (): void => {
        const text = `watch ${watch.path}: not started in time (${host.describe()})`;
        watch.fail(this.#lastRefusal ?? new TimeoutError(text, { indeterminate: false }));
      },
    };
    host.limits.add(limit);
    const over = (): void => host.limits.delete(limit);
    watch.started.then(over, over);
  }
}

/** The last two come of a read that travels with a watch. */
const TEMPORARY: ReadonlySet<ErrorCode> = new Set([
  'NOT_CAUGHT_UP',
  'OVERLOADED',
  'SHUTTING_DOWN',
  'NO_LEADER',
  'LEADER_CHANGED',
]);

function isTemporary(code: ErrorCode): boolean {
  return TEMPORARY.has(code);
}
