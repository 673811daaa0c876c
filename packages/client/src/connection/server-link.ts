/**
 * A client's link to whichever server serves it: finds one, attaches its session there if it has one, notices when it is lost or answers
 * no more, and goes to the next. Tells its owner what it hears; what a session is made of, it does not know.
 */

import { encodeAttachRequest } from '@holdfast/protocol';
import type { AttachRequest, ErrorCode, Member, Reply, ServerMessage } from '@holdfast/protocol';
import type { Clock, Logger, Network, Random, Timer } from '@holdfast/runtime';
import type { HoldfastError } from '../errors.ts';
import { LazyTimer } from '../lazy-timer.ts';
import type { ResolvedOptions } from '../options.ts';
import { errorFromServer } from '../server-error.ts';
import type { Instant } from '../session/lease.ts';
import { Connector, unreachable } from './connector.ts';
import { LeaderFollower } from './leader-follower.ts';
import { Patience } from './patience.ts';
import type { ServerConnection } from './server-connection.ts';
import { ServerList } from './server-list.ts';

/** A connection that was lost sooner than this after it was attached counts as a failed attempt. */
const STABLE_AFTER_MS = 1_000;
const MIN_ATTACH_TIMEOUT_MS = 500;
const MAX_FIRST_ATTACH_TIMEOUT_MS = 3_000;
/** Of the session's timeout: how long the last of several attaches waits. */
const MAX_ATTACH_PART = 1 / 3;
/** Clients that are asked to leave a server do so within this time, not all at once. Many take longer, but not than the server serves. */
const LEAVE_SPREAD_MS = 100;
const MAX_LEAVE_SPREAD_MS = 1_000;
/** Of the session's timeout: for no longer than that does a client wait before its first dial, for the others' sake. */
const MAX_SPREAD_PART = 1 / 6;

export type AttachedReply = Extract<Reply, { readonly type: 'attached' }>;

export interface LinkOwner {
  /** Undefined: there is no session, and the link is all there is once a server has welcomed this client. */
  attachRequest(): AttachRequest | undefined;
  /** A link that is lost is made again by itself; otherwise when it is started again. */
  isNeeded(): boolean;
  /** True while the server owes an answer to anything but the attach. */
  awaitsAnswer(): boolean;
  /** A server has welcomed this client, and the attach is on its way: reads may follow it. What was attached before is so no more. */
  linked(connection: ServerConnection): void;
  /** The lease counts from `sentAt`. */
  attached(reply: AttachedReply, connection: ServerConnection, sentAt: Instant): void;
  /** The ensemble refuses the session; true when another attempt may succeed. */
  attachRefused(error: HoldfastError): boolean;
  message(message: ServerMessage, connection: ServerConnection): void;
  lost(server: string, reason: string): void;
  /** The link is given up: every configured server refuses this client, before it was ever attached, or no server knows a leader. */
  refused(error: HoldfastError): void;
}

interface Attachment {
  readonly connection: ServerConnection;
  readonly attach: number;
  /** Undefined without a session. */
  readonly sentAt: Instant | undefined;
  /** Undefined until the ensemble has answered, where a session attaches. */
  attachedAtMs: number | undefined;
}

export class ServerLink {
  readonly #options: ResolvedOptions;
  readonly #owner: LinkOwner;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #servers: ServerList;
  readonly #connector: Connector;
  readonly #leaderFollower: LeaderFollower;
  readonly #attachTimer: LazyTimer;
  readonly #attachPatience: Patience;
  #attachment: Attachment | undefined;
  /** A connection is being looked for. */
  #connecting = false;
  #leaveTimer: Timer | undefined;
  #attaches = 0;
  #everAttached = false;
  #stopped = false;

  constructor(
    options: ResolvedOptions,
    owner: LinkOwner,
    deps: { readonly clock: Clock; readonly network: Network; readonly random: Random; readonly logger: Logger },
  ) {
    const { clock } = deps;
    this.#options = options;
    this.#owner = owner;
    this.#clock = clock;
    this.#random = deps.random;
    this.#logger = deps.logger;
    this.#servers = new ServerList(options.servers, deps);
    this.#connector = new Connector(options, this.#servers, deps);
    this.#leaderFollower = new LeaderFollower(this.#servers, this.#connector, deps, {
      currentServer: () => this.server?.id,
      moveTo: (connection) => this.#attach(connection),
    });
    const { sessionTimeoutMs } = options;
    const firstMs = Math.min(MAX_FIRST_ATTACH_TIMEOUT_MS, Math.max(MIN_ATTACH_TIMEOUT_MS, sessionTimeoutMs / 4));
    this.#attachPatience = new Patience(firstMs, sessionTimeoutMs * MAX_ATTACH_PART);
    // A busy event loop runs this timer before it reads its sockets: look again when they have been read.
    this.#attachTimer = new LazyTimer(clock, () => clock.afterPoll(() => this.#attachTimedOut()));
  }

  /** The server to which the session is attached, or that has welcomed a client without one. */
  get server(): { readonly id: number; readonly address: string } | undefined {
    const connection = this.#attachment?.attachedAtMs === undefined ? undefined : this.#attachment.connection;
    return connection && { id: connection.welcome.server, address: connection.address };
  }

  get leader(): number {
    return this.#servers.leader;
  }

  get members(): readonly Member[] {
    return this.#servers.members;
  }

  /** Without effect while there is a link, or one is being made. */
  start(): void {
    if (this.#attachment === undefined && !this.#stopped) this.#connect(0);
  }

  /** Sends what this turn has gathered, closes, and connects no more. */
  stop(reason: string): void {
    this.#stopped = true;
    this.#attachTimer.stop();
    this.#leaveTimer?.cancel();
    this.#connector.stop();
    this.#leaderFollower.stop();
    this.#leave(reason);
  }

  /** Gives up the present server for another. */
  drop(reason: string): void {
    this.#attachment?.connection.destroy(reason);
  }

  /** Why there is no link yet; `wanted` is what it is for. */
  unreachable(wanted: string): HoldfastError {
    return this.#servers.refusal ?? unreachable(this.#servers, wanted, this.#options.connectTimeoutMs);
  }

  #connect(firstDelayMs: number | 'backoff'): void {
    if (this.#connecting) return;
    this.#connecting = true;
    const left = this.#attachment;
    const { preferLeader, purpose, failFast } = this.#options;
    const untilRefused = !this.#everAttached;
    const untilLeaderless = purpose === 'ask' || (purpose === 'give-back' && untilRefused);
    const untilUnreachable = failFast && untilRefused;
    const attempt = { firstDelayMs, untilRefused, untilLeaderless, untilUnreachable, preferLeader };
    this.#connector
      .connect(attempt)
      .then((connection) => {
        this.#connecting = false;
        if (this.#stopped) connection?.destroy('the session is over');
        else if (this.#attachment !== undefined && this.#attachment !== left) {
          connection?.destroy('the session is elsewhere already');
        } else if (connection !== undefined) this.#attach(connection);
        else if (this.#connector.gaveUpFor !== undefined) this.#owner.refused(this.#connector.gaveUpFor);
      })
      .catch((error: unknown) => this.#logger.error({ error }, 'connecting failed in an unforeseen way'));
  }

  /** Makes this the session's connection; the one before is given up. */
  #attach(connection: ServerConnection): void {
    this.#leave('moved to another server');
    this.#attaches += 1;
    const attach = this.#attaches;
    const request = this.#owner.attachRequest();
    this.#attachTimer.stop();
    if (request === undefined) {
      this.#attachment = { connection, attach, sentAt: undefined, attachedAtMs: this.#clock.monotonicMs() };
      this.#everAttached = true;
    } else {
      const sentAt = connection.post({ type: 'attach', id: attach, payload: encodeAttachRequest(request) });
      this.#attachment = { connection, attach, sentAt, attachedAtMs: undefined };
      this.#attachTimer.ensure(sentAt.monotonicMs + this.#attachPatience.ms);
    }
    this.#owner.linked(connection);
    connection.setHandler({
      message: (message) => this.#receive(message, connection),
      awaitsAnswer: () => this.#attachment?.attachedAtMs === undefined || this.#owner.awaitsAnswer(),
      closed: (reason, code) => this.#disconnected(connection, reason, code),
    });
  }

  /** The server will stop. It serves until another has taken over. */
  #leaveSoon(connection: ServerConnection): void {
    this.#servers.failed(connection.address, 'the server is stopping');
    this.#leaveTimer?.cancel();
    const spreadMs = Math.max(LEAVE_SPREAD_MS, Math.min(MAX_LEAVE_SPREAD_MS, this.#servers.spreadMs));
    this.#leaveTimer = this.#clock.setTimer(this.#random.next() * spreadMs, () => {
      if (this.#attachment?.connection === connection) this.#connect(0);
    });
  }

  #leave(reason: string): void {
    const connection = this.#attachment?.connection;
    this.#attachment = undefined;
    connection?.dropHandler();
    connection?.close(reason);
  }

  #receive(message: ServerMessage, connection: ServerConnection): void {
    if (this.#attachment?.connection !== connection) return;
    if (message.type === 'attached') {
      this.#attachAnswered(message.id, message.index, message.reply, this.#attachment);
    } else if (message.type === 'leader') {
      this.#servers.learn(message);
      if (this.#options.preferLeader) this.#leaderFollower.leaderChanged();
    } else if (message.type === 'leave') this.#leaveSoon(connection);
    else this.#owner.message(message, connection);
  }

  #attachAnswered(id: number, index: number, reply: Reply, attachment: Attachment): void {
    const { sentAt } = attachment;
    if (id !== attachment.attach || attachment.attachedAtMs !== undefined || sentAt === undefined) return;
    if (reply.type !== 'attached') {
      const code = reply.type === 'error' ? reply.code : 'UNSUPPORTED';
      const text = reply.type === 'error' ? reply.message : `it was answered with ${reply.type}`;
      const error = errorFromServer(code, `attach was refused: ${text}`);
      if (this.#owner.attachRefused(error)) attachment.connection.destroy(error.message);
      return;
    }
    this.#attachTimer.stop();
    this.#attachPatience.reset();
    attachment.attachedAtMs = this.#clock.monotonicMs();
    this.#everAttached = true;
    this.#owner.message({ type: 'attached', id, index, reply }, attachment.connection);
    this.#owner.attached(reply, attachment.connection, sentAt);
    if (this.#options.preferLeader) this.#leaderFollower.leaderChanged();
  }

  #disconnected(connection: ServerConnection, reason: string, code: ErrorCode | undefined): void {
    const attachment = this.#attachment;
    if (attachment?.connection !== connection) return;
    this.#attachment = undefined;
    this.#attachTimer.stop();
    this.#servers.failed(connection.address, reason);
    if (code === undefined) this.#servers.lost(connection.welcome.server);
    if (code === 'SESSION_MOVED') {
      this.#logger.warn({ server: connection.address }, 'somebody else attached with the secret of this session');
    }
    const { attachedAtMs } = attachment;
    const stable = attachedAtMs !== undefined && this.#clock.monotonicMs() - attachedAtMs >= STABLE_AFTER_MS;
    if (stable) this.#connector.connectedForGood();
    this.#owner.lost(connection.address, reason);
    if (!this.#stopped && this.#owner.isNeeded()) this.#connect(stable ? this.#crowdDelayMs() : 'backoff');
  }

  #attachTimedOut(): void {
    if (this.#attachment === undefined || this.#attachment.attachedAtMs !== undefined || this.#attachTimer.armed)
      return;
    this.#attachPatience.ranOut();
    this.drop('attach was not answered in time');
  }

  /** All clients of the server that was lost come to the others now, and better not at once. */
  #crowdDelayMs(): number {
    const spreadMs = Math.min(this.#servers.spreadMs, this.#options.sessionTimeoutMs * MAX_SPREAD_PART);
    return this.#random.next() * spreadMs;
  }
}
