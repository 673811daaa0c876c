/**
 * A session of the ensemble, whichever server it is attached to: carries each request to exactly one outcome, and keeps the lease. It
 * ends only when the ensemble says so or when it is closed. A lease that has run out while no server could be reached ends the holds
 * (see locks/), not the session, which the ensemble may still know.
 */

import { SECRET_BYTES } from '@holdfast/protocol';
import type { Acquire, AttachRequest, LossReason, Reply, ServerMessage } from '@holdfast/protocol';
import type { Clock, Logger, Runtime } from '@holdfast/runtime';
import type { ServerConnection } from '../connection/server-connection.ts';
import { ServerLink, type AttachedReply, type LinkOwner } from '../connection/server-link.ts';
import { ClientClosedError, SessionExpiredError, type HoldfastError } from '../errors.ts';
import type { ClientState } from '../events.ts';
import type { ResolvedOptions } from '../options.ts';
import { AdminCalls, type AdminRequest } from './admin-calls.ts';
import type { Asker } from './asker.ts';
import { Heartbeats } from './heartbeats.ts';
import { Lease, type Instant } from './lease.ts';
import { ReadPipeline, type Read } from './reads.ts';
import { RequestPipeline } from './request-pipeline.ts';
import { Request } from './request.ts';
import { TimeLimits } from './time-limits.ts';

/** All that a client needs of the outside world. */
export type ClientRuntime = Pick<Runtime, 'clock' | 'network' | 'random'>;

/** What the layer above is told of. */
export interface SessionListener {
  granted(acquireIndex: number, token: number): void;
  lost(acquireIndex: number, reason: LossReason): void;
  /** Every wait and hold that the ensemble knows of; what it does not name is gone. */
  reconcile(acquires: readonly Acquire[]): void;
  /** The lease may reach further than before. */
  renewed(): void;
  /** Every hold and wait is over; `error` is what waits fail with. */
  ended(reason: LossReason, error: HoldfastError): void;
  stateChanged(state: ClientState, server: string | undefined, reason: string): void;
}

export class Session implements LinkOwner, Asker {
  readonly clock: Clock;
  readonly lease: Lease;
  readonly limits: TimeLimits;
  readonly logger: Logger;
  readonly #options: ResolvedOptions;
  readonly #listener: SessionListener;
  readonly #link: ServerLink;
  readonly #requests: RequestPipeline;
  readonly #reads: ReadPipeline;
  readonly #admin = new AdminCalls();
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
    return this.clock.monotonicMs() + (timeoutMs ?? this.#options.requestTimeoutMs);
  }

  /** @throws SessionExpiredError, ClientClosedError, OverloadedError */
  submit(request: Request, mustBeSent = false): void {
    this.#assertNotOver();
    this.#requests.submit(request, mustBeSent);
  }

  /** For what gives back something that nobody owns: not counted against a limit, and without effect on a session that is over. */
  submitInBackground(request: Request): void {
    if (!this.over) this.#requests.submit(request, true);
  }

  /** True when the request never left and never will. */
  withdraw(request: Request): boolean {
    const withdrawn = this.#requests.withdraw(request);
    if (withdrawn) this.#checkIdle();
    return withdrawn;
  }

  /** @throws SessionExpiredError, ClientClosedError, OverloadedError */
  submitRead(read: Read): void {
    this.#assertNotOver();
    this.#reads.submit(read);
  }

  withdrawRead(read: Read): void {
    this.#reads.withdraw(read);
  }

  /** @throws SessionExpiredError, ClientClosedError, OverloadedError */
  submitAdmin(call: AdminRequest): void {
    this.#assertNotOver();
    this.#admin.submit(call);
  }

  withdrawAdmin(call: AdminRequest): void {
    this.#admin.withdraw(call);
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
        else this.submitInBackground(new CloseRequest(finish));
      };
      this.#checkIdle();
    });
  }

  // What the link tells

  attachRequest(): AttachRequest {
    const { sessionTimeoutMs, label, purpose } = this.#options;
    const givesBack = purpose === 'give-back';
    return { secret: this.#secret, session: this.#id, timeoutMs: sessionTimeoutMs, label, givesBack };
  }

  isNeeded(): boolean {
    return true;
  }

  awaitsAnswer(): boolean {
    const { unanswered } = this.#requests;
    return unanswered + this.#reads.unanswered + this.#admin.unanswered + this.#heartbeats.unanswered > 0;
  }

  linked(connection: ServerConnection): void {
    this.#detach();
    this.#reads.connected(connection);
    this.#admin.connected(connection);
  }

  attached(reply: AttachedReply, connection: ServerConnection, sentAt: Instant): void {
    this.#id = reply.session;
    this.lease.setSessionTimeout(reply.timeoutMs);
    this.lease.renew(sentAt);
    this.#listener.reconcile(reply.acquires);
    this.#listener.renewed();
    this.#heartbeats.attached(connection, reply.timeoutMs);
    this.#requests.attached(connection);
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
        this.#listener.granted(message.acquireIndex, message.token);
        return;
      case 'lost':
        this.#listener.lost(message.acquireIndex, message.reason);
        return;
      case 'answer':
        this.#reads.answer(message.id, message.answer, { server: welcome.server, address, index: message.index });
        return;
      case 'renewed':
        this.#heartbeats.renewed(message.id);
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
    this.#requests.detached();
    this.#reads.disconnected();
    this.#admin.disconnected();
    this.#heartbeats.detached();
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

  #ended(reason: LossReason): void {
    const closing = this.#refusing !== undefined && reason === 'closed';
    this.#finish(closing ? 'closed' : 'expired', `the session has ended: ${ENDED_TEXT[reason]}`, reason);
  }

  #finish(state: 'expired' | 'closed', reason: string, loss: LossReason): void {
    if (this.over) return;
    this.#over = reason;
    const server = this.#link.server?.address;
    const error = this.#overError(reason);
    // First, since those that cannot be repeated would be told of a lost connection.
    this.#admin.end(error);
    this.#detach();
    this.#link.stop(reason);
    this.#listener.ended(loss, error);
    this.#requests.end((outcome, indeterminate) => this.#overError(`${reason}; ${outcome}`, { indeterminate }));
    this.#reads.end(error);
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

/** The session's own end, after which it has nothing more to say. */
class CloseRequest extends Request {
  readonly #done: () => void;

  constructor(done: () => void) {
    super({ type: 'closeSession', session: 0 });
    this.#done = done;
  }

  answered(): void {
    this.#done();
  }

  failed(): void {
    this.#done();
  }
}

const ENDED_TEXT: Readonly<Record<LossReason, string>> = {
  expired: 'it was not renewed in time',
  revoked: 'an operator closed it',
  closed: 'it was closed',
};
