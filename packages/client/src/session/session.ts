/**
 * A session of the ensemble, whichever server it is attached to: carries each request to exactly one outcome, and keeps the lease. It
 * ends only when the ensemble says so or when it is closed. A lease that has run out while no server could be reached ends the holds
 * (see locks/), not the session, which the ensemble may still know.
 */

import { SECRET_BYTES } from '@holdfast/protocol';
import type {
  Acquire,
  AttachRequest,
  Command,
  DeadlockStep,
  EndReason,
  LossReason,
  Reply,
  ServerMessage,
} from '@holdfast/protocol';
import type { Clock, Logger, Runtime } from '@holdfast/runtime';
import type { ServerConnection } from '../connection/server-connection.ts';
import { ServerLink, type AttachedReply, type LinkOwner } from '../connection/server-link.ts';
import { ClientClosedError, SessionExpiredError, type HoldfastError } from '../errors.ts';
import type { ClientState } from '../events.ts';
import { checkDuration, type ResolvedOptions } from '../options.ts';
import type { Asker } from './asker.ts';
import { send, type Channel } from './call.ts';
import { AdminPipeline, type AdminCall } from './channels/admin-pipeline.ts';
import type { Pipeline } from './channels/pipeline.ts';
import { ReadPipeline, type ReadCall } from './channels/read-pipeline.ts';
import { RequestPipeline, encoded, type RequestCall } from './channels/request-pipeline.ts';
import type { NodeWatch, WatchOptions, WatchRead } from '../watches/node-watch.ts';
import { WatchPipeline } from '../watches/watch-pipeline.ts';
import { Heartbeats } from './heartbeats.ts';
import { Lease, type Instant } from './lease.ts';
import { TimeLimits } from './time-limits.ts';

/** All that a client needs of the outside world. */
export type ClientRuntime = Pick<Runtime, 'clock' | 'network' | 'random'>;

/** What a session reports to the layer above. */
export interface SessionListener {
  /** `floor`: the lowest live token of those of its locks that others may hold, too; undefined where there is none. */
  granted(acquireIndex: number, token: number, floor: number | undefined): void;
  /** No hold of that lock has a lower token any more. */
  floorRaised(acquireIndex: number, lock: string, floor: number): void;
  /** Others wait for a lock that is held by that acquire. */
  othersWait(acquireIndex: number): void;
  /** `deadlock`: the one that a wait was ended to break. */
  lost(acquireIndex: number, reason: LossReason, deadlock: readonly DeadlockStep[]): void;
  /** An operator asks for a hold. */
  releaseRequested(request: Extract<ServerMessage, { readonly type: 'release-requested' }>): void;
  /** Every wait and hold that the ensemble knows of; what it does not name is gone. */
  reconcile(acquires: readonly Acquire[]): void;
  /** The lease may reach further than before. */
  renewed(): void;
  /** Every hold and wait is over; `error` is what waits fail with. */
  ended(reason: EndReason, error: HoldfastError): void;
  stateChanged(state: ClientState, server: string | undefined, reason: string): void;
}

export class Session implements LinkOwner, Asker {
  readonly clock: Clock;
  readonly lease: Lease;
  readonly limits: TimeLimits;
  readonly logger: Logger;
  /** Commands that go unsent when nobody waits for them any more. */
  readonly commands: Channel<RequestCall>;
  /** Commands that give something back: sent whether anybody waits for the answer or not, and not counted against a limit. */
  readonly releases: Channel<RequestCall>;
  readonly reads: Channel<ReadCall>;
  readonly admin: Channel<AdminCall>;
  readonly #options: ResolvedOptions;
  readonly #listener: SessionListener;
  readonly #link: ServerLink;
  readonly #requests: RequestPipeline;
  readonly #reads: ReadPipeline;
  readonly #admin = new AdminPipeline();
  readonly #watches: WatchPipeline;
  readonly #pipelines: readonly Pipeline[];
  readonly #background: Channel<RequestCall>;
  readonly #heartbeats: Heartbeats;
  readonly #secret: Uint8Array;
  #id = 0;
  #state: ClientState | 'connecting' = 'connecting';
  /** Why every call fails from now on; undefined while they do not. */
  #over: string | undefined;
  #refusing: string | undefined;
  #opening: { resolve(): void; reject(error: unknown): void } | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: ResolvedOptions, listener: SessionListener, runtime: ClientRuntime) {
    const { clock, random } = runtime;
    this.#options = options;
    this.#listener = listener;
    this.clock = clock;
    this.logger = options.logger;
    this.lease = new Lease(clock, options.sessionTimeoutMs);
    this.limits = new TimeLimits(clock);
    this.#secret = random.bytes(SECRET_BYTES);
    this.#link = new ServerLink(options, this, { ...runtime, logger: options.logger });
    const limits = { maxQueued: options.maxQueuedRequests };
    this.#requests = new RequestPipeline(limits, { clock, random });
    this.#reads = new ReadPipeline(limits, { clock, random });
    this.#watches = new WatchPipeline({ clock, random, host: this, seenIndex: () => this.#reads.seenIndex });
    // Watches first: they hear of a change before a call that is sent again shows it.
    this.#pipelines = [this.#watches, this.#requests, this.#reads, this.#admin];
    this.commands = this.#channel({
      submit: (call) => this.#requests.submit(call),
      withdraw: (call) => this.#withdraw(call),
    });
    const submit = (call: RequestCall): void => this.#requests.submit(call, true);
    this.releases = this.#channel({ submit, withdraw: () => false });
    this.#background = { host: this, submit, withdraw: () => false };
    this.reads = this.#channel(this.#reads);
    this.admin = this.#channel(this.#admin);
    this.#heartbeats = new Heartbeats(options.sessionTimeoutMs, {
      clock,
      lease: this.lease,
      stale: () => this.#link.drop('the server renews the session no more'),
    });
  }

  /** 0 before the first attach. */
  get id(): number {
    return this.#id;
  }

  get state(): ClientState | 'connecting' {
    return this.#state;
  }

  get over(): boolean {
    return this.#over !== undefined;
  }

  get link(): Pick<ServerLink, 'server' | 'leader' | 'members'> {
    return this.#link;
  }

  get load(): { readonly unanswered: number; readonly queued: number } {
    return { unanswered: this.#requests.unanswered, queued: this.#requests.queued };
  }

  /** Makes the session. Rejects with what the ensemble refuses it with, and with what it is abandoned for. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
      this.#link.start();
    });
  }

  /** Gives up making the session; without effect once it is made. */
  abandon(error: unknown = this.#link.unreachable('session')): void {
    if (this.#opening === undefined) return;
    this.#opening.reject(error);
    this.#opening = undefined;
    this.#finish('closed', 'the connection attempt was given up', 'closed');
  }

  limitAtMs(timeoutMs: number | undefined): number {
    checkDuration('timeoutMs', timeoutMs);
    return this.clock.monotonicMs() + (timeoutMs ?? this.#options.requestTimeoutMs);
  }

  /**
   * For what ends something that nobody owns: not counted against a limit, sent even while calls are refused, and without effect on a
   * session that is over. `over` is called when it is done, or was done already, or never will be.
   */
  sendInBackground(
    command: Extract<Command, { readonly type: 'cancel' | 'release' | 'closeSession' }>,
    over: () => void = () => undefined,
  ): void {
    if (!this.over) send(this.#background, encoded(command), over);
  }

  /** In words, for messages. */
  describe(): string {
    return `${this.#state}, ${this.#link.server === undefined ? 'no server' : `at ${this.#link.server.address}`}`;
  }

  /** Every new call fails from now on; those under way go on. */
  refuseCalls(reason: string): void {
    this.#refusing ??= reason;
  }

  /**
   * Waits for the answers that are still to come, ends the session at the ensemble, and then here. If that takes longer than
   * `timeoutMs`, the session ends here, and at the ensemble by its timeout.
   */
  close(reason: string, timeoutMs: number): Promise<void> {
    this.refuseCalls(reason);
    return new Promise((resolve) => {
      const finish = (): void => {
        this.limits.delete(limit);
        this.#finish('closed', reason, 'closed');
        resolve();
      };
      const limit = { expiresAtMs: this.clock.monotonicMs() + timeoutMs, expire: finish };
      this.limits.add(limit);
      this.#onIdle = () => {
        if (this.over) finish();
        else this.sendInBackground({ type: 'closeSession', session: 0 }, finish);
      };
      this.#checkIdle();
    });
  }

  /** The path and the options are good. @throws SessionExpiredError, ClientClosedError */
  watch(path: string, options: WatchOptions, read?: WatchRead): NodeWatch {
    this.#assertNotOver();
    return this.#watches.watch(path, options, read);
  }

  attachRequest(): AttachRequest {
    const { sessionTimeoutMs, label, purpose } = this.#options;
    const givesBack = purpose === 'give-back';
    return { secret: this.#secret, session: this.#id, timeoutMs: sessionTimeoutMs, label, givesBack };
  }

  isNeeded(): boolean {
    return true;
  }

  awaitsAnswer(): boolean {
    return this.#heartbeats.unanswered > 0 || this.#pipelines.some(({ unanswered }) => unanswered > 0);
  }

  linked(connection: ServerConnection): void {
    this.#detach();
    for (const pipeline of this.#pipelines) pipeline.connected?.(connection);
  }

  attached(reply: AttachedReply, connection: ServerConnection, sentAt: Instant): void {
    this.#id = reply.session;
    this.lease.setSessionTimeout(reply.timeoutMs);
    this.lease.renew(sentAt);
    this.lease.follow(connection.renewEvery(reply.timeoutMs / 3));
    this.#listener.reconcile(reply.acquires);
    this.#listener.renewed();
    this.#heartbeats.attached(connection, reply.timeoutMs);
    for (const pipeline of this.#pipelines) pipeline.attached?.(connection);
    this.#setState('connected', connection.address, 'attached');
    this.#opening?.resolve();
    this.#opening = undefined;
  }

  attachRefused(error: HoldfastError): boolean {
    if (this.#id !== 0 && error.code === 'SESSION_EXPIRED') {
      this.#ended('expired');
      return false;
    }
    if (this.#opening === undefined || error.retryable) return true;
    this.abandon(error);
    return false;
  }

  lost(server: string, reason: string): void {
    this.#detach();
    if (this.#state === 'connected') this.#setState('suspended', server, reason);
  }

  refused(error: HoldfastError): void {
    this.abandon(error);
  }

  message(message: ServerMessage, { welcome, address }: ServerConnection): void {
    if (this.over) return;
    if ('index' in message) this.#reads.saw(message.index);
    switch (message.type) {
      case 'reply':
        this.#replied(message.number, message.reply);
        return;
      case 'granted':
        this.#listener.granted(message.acquireIndex, message.token, message.floor);
        return;
      case 'floor':
        this.#listener.floorRaised(message.acquireIndex, message.lock, message.floor);
        return;
      case 'contended':
        this.#listener.othersWait(message.acquireIndex);
        return;
      case 'lost':
        this.#listener.lost(message.acquireIndex, message.reason, message.deadlock ?? []);
        return;
      case 'release-requested':
        this.#listener.releaseRequested(message);
        return;
      case 'answer':
        this.#reads.answer(message.id, message.answer, { server: welcome.server, address, index: message.index });
        return;
      case 'renewed':
        this.#heartbeats.renewed(message.id);
        this.#watches.renewed(message.through);
        this.#listener.renewed();
        return;
      case 'ended':
        this.#ended(message.reason);
        return;
      case 'resend':
        this.#requests.refused(message.from, message.code);
        return;
      case 'admin-answer':
        this.#admin.answer(message.id, message.answer, { server: welcome.server, address });
        return;
      case 'watching':
        this.#watches.watching(message);
        return;
      case 'unwatched':
        this.#watches.unwatched();
        return;
      case 'watch-refused':
        this.#watches.refused(message);
        return;
      case 'events':
        this.#reads.saw(message.through);
        this.#watches.events(message);
        return;
      case 'missed':
        this.#reads.saw(message.through);
        this.#watches.missed(message);
        return;
      case 'attached':
      case 'pong':
      case 'welcome':
      case 'leader':
      case 'leave':
      case 'goodbye':
        return;
    }
  }

  #replied(number: number, reply: Reply): void {
    const request = this.#requests.answer(number);
    if (request === undefined) return;
    if (request.sentAt !== undefined) {
      this.lease.renew(request.sentAt);
      this.#listener.renewed();
    }
    request.answered(reply);
    this.#checkIdle();
  }

  #detach(): void {
    for (const pipeline of this.#pipelines) pipeline.disconnected();
    this.#heartbeats.detached();
  }

  /** Refuses every call of a session that is over, or about to be. */
  #channel<C>(pipeline: Omit<Channel<C>, 'host'>): Channel<C> {
    return {
      host: this,
      submit: (call) => {
        this.#assertNotOver();
        pipeline.submit(call);
      },
      withdraw: (call) => pipeline.withdraw(call),
    };
  }

  #withdraw(request: RequestCall): boolean {
    const withdrawn = this.#requests.withdraw(request);
    if (withdrawn) this.#checkIdle();
    return withdrawn;
  }

  #assertNotOver(): void {
    const reason = this.#over ?? this.#refusing;
    if (reason !== undefined) throw this.#overError(`${reason}; connect again for a new session`);
  }

  /** For a client that was closed, its session did not expire, whichever of the two came first at the ensemble. */
  #overError(message: string, options: { readonly indeterminate?: boolean } = {}): HoldfastError {
    const closed = this.#refusing !== undefined || this.#state === 'closed';
    return closed ? new ClientClosedError(message, options) : new SessionExpiredError(message, options);
  }

  #ended(reason: EndReason): void {
    // Whoever comes back after its close hears that there is no such session, and not that it was this close that ended it.
    if (this.#refusing !== undefined) this.#finish('closed', this.#refusing, 'closed');
    else this.#finish('expired', `the session has ended: ${ENDED_TEXT[reason]}`, reason);
  }

  #finish(state: 'expired' | 'closed', reason: string, loss: EndReason): void {
    if (this.over) return;
    this.#over = reason;
    this.lease.end();
    const server = this.#link.server?.address;
    const error = this.#overError(reason);
    // First: what cannot be repeated would fail with a lost connection.
    this.#admin.end(error);
    this.#detach();
    this.#link.stop(reason);
    this.#listener.ended(loss, error);
    this.#requests.end((outcome, indeterminate) => this.#overError(`${reason}; ${outcome}`, { indeterminate }));
    this.#reads.end(error);
    this.#watches.end(error);
    this.limits.close();
    this.#opening?.reject(error);
    this.#opening = undefined;
    this.#checkIdle();
    this.#setState(state, server, reason);
  }

  #checkIdle(): void {
    if (this.#onIdle === undefined || !(this.over || this.#requests.idle)) return;
    const onIdle = this.#onIdle;
    this.#onIdle = undefined;
    onIdle();
  }

  #setState(state: ClientState, server: string | undefined, reason: string): void {
    if (this.#state === state) return;
    const neverWas = this.#state === 'connecting' && state === 'closed';
    this.#state = state;
    this.logger.info({ sessionId: this.#id, state, server, reason }, 'the session changed its state');
    if (!neverWas) this.#listener.stateChanged(state, server, reason);
  }
}

const ENDED_TEXT: Readonly<Record<EndReason, string>> = {
  expired: 'it was not renewed in time',
  revoked: 'an operator closed it',
  closed: 'it was closed',
};
