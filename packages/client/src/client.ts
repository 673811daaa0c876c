/** One session of the ensemble and everything that is used through it. Made by `connect`; over after `expired` or `close`. */

import { MUTEX, type Member } from '@holdfast/protocol';
import { Admin, checkLockName } from './admin.ts';
import { ClientClosedError } from './errors.ts';
import { ClientEvents, type ClientState } from './events.ts';
import { Acquires } from './locks/acquires.ts';
import { Lock } from './locks/lock.ts';
import { Nodes } from './nodes.ts';
import type { ResolvedOptions } from './options.ts';
import { Session, type ClientRuntime } from './session/session.ts';

export interface ClientStatus {
  readonly state: ClientState;
  readonly sessionId: number;
  /** The server to which the session is attached. */
  readonly server: { readonly id: number; readonly address: string } | undefined;
  /** The leader's id, as servers reported last; 0 while unknown. */
  readonly leader: number;
  readonly members: readonly Member[];
  /** For how long the session is certain to live without another renewal; 0 when that is over. */
  readonly remainingMs: number;
  readonly holds: number;
  readonly waits: number;
  /** Requests that were sent and not yet answered, and those that wait to be sent. */
  readonly unanswered: number;
  readonly queued: number;
}

export class Client implements AsyncDisposable {
  readonly events: ClientEvents;
  readonly nodes: Nodes;
  readonly admin: Admin;
  readonly #session: Session;
  readonly #acquires: Acquires;
  readonly #closeTimeoutMs: number;
  #closed: Promise<void> | undefined;

  /** @internal Use `connect`. */
  constructor(options: ResolvedOptions, runtime: ClientRuntime) {
    this.events = new ClientEvents(options.logger);
    this.#closeTimeoutMs = options.closeTimeoutMs;
    this.#session = new Session(
      options,
      {
        granted: (acquireIndex, token) => this.#acquires.grantedByEnsemble(acquireIndex, token),
        lost: (acquireIndex, reason) => this.#acquires.lostByEnsemble(acquireIndex, reason),
        reconcile: (acquires) => this.#acquires.reconcile(acquires),
        renewed: () => this.#acquires.renewed(),
        ended: (reason, error) => this.#acquires.ended(reason, error),
        stateChanged: (type, server, reason) => this.events.emit({ type, sessionId: this.#session.id, server, reason }),
      },
      runtime,
    );
    this.#acquires = new Acquires(this.#session, (lock, token, error) =>
      this.events.emit({ type: 'release-unconfirmed', sessionId: this.#session.id, lock, token, error }),
    );
    this.nodes = new Nodes(this.#session);
    this.admin = new Admin(this.#session, 'linearizable', () => Promise.resolve(this.#session));
  }

  /** @internal */
  get session(): Session {
    return this.#session;
  }

  get sessionId(): number {
    return this.#session.id;
  }

  /** `connected`, `suspended`, `expired` or `closed`. */
  get state(): ClientState {
    const { state } = this.#session;
    return state === 'connecting' ? 'suspended' : state;
  }

  /** The lock of that name; it exists while somebody holds it or waits. @throws InvalidArgumentError for a name that no lock can have */
  lock(name: string): Lock {
    checkLockName(name);
    return new Lock(name, MUTEX, this.#session, this.#acquires);
  }

  status(): ClientStatus {
    const session = this.#session;
    return {
      state: this.state,
      sessionId: session.id,
      server: session.link.server,
      leader: session.link.leader,
      members: session.link.members,
      remainingMs: session.over ? 0 : Math.max(0, session.lease.remainingMs()),
      holds: this.#acquires.holds,
      waits: this.#acquires.waits,
      ...session.load,
    };
  }

  /**
   * Ends the session: every hold is lost and every wait fails at once, then the ensemble gives all of them up in one step. Takes at
   * most `closeTimeoutMs`: after that the session ends by its timeout. Never rejects; a second call returns the first one's promise.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    if (this.#session.over) return;
    const reason = 'the client was closed';
    this.#session.refuseCalls(reason);
    this.#acquires.ended('closed', new ClientClosedError(reason));
    await this.#session.close(reason, this.#closeTimeoutMs);
  }
}
