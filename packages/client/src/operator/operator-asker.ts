/**
 * Asks the ensemble what needs no session: at a server that knows a leader, or at any that can be reached. The link is made when somebody
 * asks, and made again while an answer is due. Where no server knows a leader, and only a leader can answer, every call fails at once.
 */

import type { AttachRequest, ServerMessage } from '@holdfast/protocol';
import type { Clock } from '@holdfast/runtime';
import type { ServerConnection } from '../connection/server-connection.ts';
import { ServerLink, type LinkOwner } from '../connection/server-link.ts';
import { ClientClosedError, type HoldfastError } from '../errors.ts';
import { checkDuration, type ResolvedOptions } from '../options.ts';
import type { Asker } from '../session/asker.ts';
import type { Channel } from '../session/call.ts';
import { AdminPipeline, type AdminCall } from '../session/channels/admin-pipeline.ts';
import type { Pipeline } from '../session/channels/pipeline.ts';
import { ReadPipeline, type ReadCall } from '../session/channels/read-pipeline.ts';
import type { ClientRuntime } from '../session/session.ts';
import { TimeLimits } from '../session/time-limits.ts';

export class OperatorAsker implements LinkOwner, Asker {
  readonly limits: TimeLimits;
  readonly reads: Channel<ReadCall>;
  readonly admin: Channel<AdminCall>;
  readonly #options: ResolvedOptions;
  readonly #clock: Clock;
  readonly #link: ServerLink;
  readonly #reads: ReadPipeline;
  readonly #admin = new AdminPipeline();
  readonly #pipelines: readonly Pipeline[];
  #opening: { resolve(): void; reject(error: unknown): void } | undefined;
  #closed: string | undefined;

  constructor(options: ResolvedOptions, runtime: ClientRuntime) {
    const { clock, random } = runtime;
    this.#options = options;
    this.#clock = clock;
    this.limits = new TimeLimits(clock);
    this.#reads = new ReadPipeline({ maxQueued: options.maxQueuedRequests }, { clock, random });
    this.#pipelines = [this.#reads, this.#admin];
    this.reads = this.#channel(this.#reads);
    this.admin = this.#channel(this.#admin);
    this.#link = new ServerLink(options, this, { ...runtime, logger: options.logger });
  }

  /** Resolves when a server has welcomed this client. Rejects with what all refuse it with, and with what it is abandoned for. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
      this.#link.start();
    });
  }

  /** Gives up opening; without effect once it is open. */
  abandon(error: unknown = this.#link.unreachable('answer')): void {
    if (this.#opening === undefined) return;
    this.#opening.reject(error);
    this.#opening = undefined;
    this.close('the connection attempt was given up');
  }

  limitAtMs(timeoutMs: number | undefined): number {
    checkDuration('timeoutMs', timeoutMs);
    return this.#clock.monotonicMs() + (timeoutMs ?? this.#options.requestTimeoutMs);
  }

  describe(): string {
    const { server, leader } = this.#link;
    const where = server === undefined ? 'no server' : `at ${server.address}`;
    return `${where}, ${leader === 0 ? 'no leader is known' : `server ${leader} leads`}`;
  }

  /** Calls that are not answered fail. */
  close(reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    const error = new ClientClosedError(reason);
    // First: what cannot be repeated would fail with a lost connection.
    this.#admin.end(error);
    this.#link.stop(reason);
    this.#reads.end(error);
    this.limits.close();
  }

  attachRequest(): AttachRequest | undefined {
    return undefined;
  }

  isNeeded(): boolean {
    return this.#opening !== undefined || this.#reads.waiting > 0 || this.#admin.unanswered > 0;
  }

  awaitsAnswer(): boolean {
    return this.#pipelines.some(({ unanswered }) => unanswered > 0);
  }

  linked(connection: ServerConnection): void {
    this.lost();
    for (const pipeline of this.#pipelines) pipeline.connected?.(connection);
    this.#opening?.resolve();
    this.#opening = undefined;
  }

  attached(): void {}

  attachRefused(): boolean {
    return true;
  }

  lost(): void {
    for (const pipeline of this.#pipelines) pipeline.disconnected();
  }

  refused(error: HoldfastError): void {
    if (this.#opening !== undefined) {
      this.abandon(error);
      return;
    }
    this.#admin.refuseAll('NO_LEADER', error.message);
    this.#reads.end(error);
  }

  message(message: ServerMessage, { welcome, address }: ServerConnection): void {
    const { server } = welcome;
    if ('index' in message) this.#reads.saw(message.index);
    if (message.type === 'answer')
      this.#reads.answer(message.id, message.answer, { server, address, index: message.index });
    else if (message.type === 'admin-answer') this.#admin.answer(message.id, message.answer, { server, address });
  }

  #channel<C>(pipeline: Omit<Channel<C>, 'host'>): Channel<C> {
    return {
      host: this,
      submit: (call) => {
        if (this.#closed !== undefined) throw new ClientClosedError(`${this.#closed}; connect again`);
        pipeline.submit(call);
        this.#link.start();
      },
      withdraw: (call) => pipeline.withdraw(call),
    };
  }
}
