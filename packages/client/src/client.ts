/**
 * A session of the ensemble and everything that is used through it. Made by `connect`; over after `close`, and after `expired` unless it is
 * resilient: then another session takes the place of the one that has ended.
 */

import { MUTEX, type Member } from '@holdfast/protocol';
import { Admin, checkLockName } from './admin.ts';
import { eventEmitted } from './diagnostics/channels.ts';
import { ClientClosedError } from './errors.ts';
import { ClientEvents, type ClientState } from './events.ts';
import { Incarnation, type Present } from './incarnations/incarnation.ts';
import { reportLoss } from './incarnations/session-lost.ts';
import { Lock, wantedTogether } from './locks/lock.ts';
import { withOptions, type LockOptions } from './locks/lock-options.ts';
import { describeWait, locksText } from './locks/waits/lock-wait.ts';
import { ReadWriteLock } from './locks/read-write-lock.ts';
import { isReentrant, ReentrantLock, type AnyLockOptions, type ReentrantLockOptions } from './locks/reentrant-lock.ts';
import { Semaphore, type SemaphoreOptions } from './locks/semaphore.ts';
import { wantedOf } from './locks/wanted.ts';
import { Nodes } from './nodes.ts';
import type { ResolvedOptions } from './options.ts';
import { checkOptionNames } from './option-names.ts';
import { Barrier } from './recipes/barrier.ts';
import { Counter } from './recipes/counter.ts';
import { DoubleBarrier } from './recipes/double-barrier.ts';
import { Election } from './recipes/election.ts';
import { Group } from './recipes/group.ts';
import { Latch } from './recipes/latch.ts';
import { Queue } from './recipes/queue.ts';
import { releaseOnExit, type ReleaseOnExitOptions } from './process/release-on-exit.ts';
import { askerOf } from './session/asker.ts';
import type { ClientRuntime, Session } from './session/session.ts';

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
  readonly #options: ResolvedOptions;
  readonly #runtime: ClientRuntime;
  #incarnation: Incarnation;
  /** In which elections go on when this client's session has expired: resilient, and closed with this one. */
  #heir: Client | undefined;
  readonly #present: Present = () => this.#incarnation;
  #closed: Promise<void> | undefined;
  /** What takes back that it closes when the process is told to end. */
  readonly #onClose = new Set<() => void>();

  /** @internal Use `connect`. */
  constructor(options: ResolvedOptions, runtime: ClientRuntime) {
    this.events = new ClientEvents(options.logger, eventEmitted);
    this.#options = options;
    this.#runtime = runtime;
    this.#incarnation = this.#incarnate();
    const present = (): Session => this.session;
    this.nodes = new Nodes(present);
    this.admin = new Admin(askerOf(present), 'linearizable', () => Promise.resolve(this.session));
  }

  /** @internal */
  get session(): Session {
    return this.#incarnation.session;
  }

  /** A resilient client has another one after `expired`; 0 until that is made. */
  get sessionId(): number {
    return this.session.id;
  }

  /** `connected`, `suspended`, `expired` or `closed`. */
  get state(): ClientState {
    const { state } = this.session;
    return state === 'connecting' ? 'suspended' : state;
  }

  /**
   * The lock of that name, which this object enters again while it holds it. Another object of the same name is another owner, and waits.
   * @throws InvalidArgumentError for a name that no lock can have
   *
   * @example
   * const lock = client.lock('accounts', { reentrant: true, limit: 10 });
   */
  lock(name: string, options: ReentrantLockOptions): ReentrantLock;
  /**
   * The lock of that name; it exists while somebody holds it or waits. @throws InvalidArgumentError for a name that no lock can have
   *
   * @example
   * const lock = client.lock('accounts/42', { lockDelayMs: 5_000 });
   */
  lock(name: string, options?: LockOptions & { readonly reentrant?: false }): Lock;
  lock(name: string, options: AnyLockOptions = {}): Lock | ReentrantLock {
    checkLockName(name);
    const lock = (given: LockOptions): Lock =>
      new Lock(withOptions(wantedOf({ lock: name, asked: MUTEX }), given), this.#present);
    return isReentrant(options) ? new ReentrantLock(lock(options), options, this.#present) : lock(options);
  }

  /**
   * The lock of that name, which many hold together to read, or one alone to write. All who use the name use it so.
   * @throws InvalidArgumentError for a name that no lock can have
   *
   * @example
   * const value = await client.readWriteLock('config').read().withLock(() => load());
   */
  readWriteLock(name: string, options: LockOptions = {}): ReadWriteLock {
    checkLockName(name);
    return new ReadWriteLock(name, options, this.#present);
  }

  /**
   * So many permits under that name. All who use the name say the same number, which can change when nobody holds any and nobody waits.
   * @throws InvalidArgumentError for a name that no lock can have, and for a number that is not from 1 to 1,000,000
   *
   * @example
   * await client.semaphore('exports', { permits: 3 }).withLock(() => runExport());
   */
  semaphore(name: string, options: SemaphoreOptions): Semaphore {
    checkLockName(name);
    return new Semaphore(name, options, this.#present);
  }

  /**
   * Several locks, taken together or not at all, under one token. It waits in the queues of all of them, holds none while it waits, and is granted
   * all by one entry of the log: so two who take several never wait for each other in a circle. By name, or as `lock`, `read`, `write`, the `lock`
   * of a semaphore and `locks` give them; at most 64, each once. The delay of all is the longest of theirs, unless the options say another.
   * @throws InvalidArgumentError
   *
   * @example
   * await client.locks(['accounts/42', 'accounts/43']).withLock((held) => transfer(42, 43, { token: held.token }));
   */
  locks(locks: readonly (string | Lock)[], options: LockOptions = {}): Lock {
    return new Lock(wantedTogether(locks, options), this.#present);
  }

  /**
   * An election, in which one of those who campaign leads at a time. It goes on when the session expires: in a session of its own, which
   * ends with `close`, unless this client is resilient. @throws InvalidArgumentError for a name that no election can have
   */
  election(name: string): Election {
    return new Election(name, () => this.#presentOrHeir());
  }

  /** A barrier that holds back whoever waits at it while it is closed. @throws InvalidArgumentError */
  barrier(name: string): Barrier {
    return new Barrier(name, this.#present);
  }

  /** A barrier at which so many `parties` go in together, and go out together. @throws InvalidArgumentError */
  doubleBarrier(name: string, options: { readonly parties: number }): DoubleBarrier {
    checkOptionNames('doubleBarrier', options, { parties: true });
    return new DoubleBarrier(name, options.parties, this.#present);
  }

  /** A count that goes down to zero, and can be waited for. @throws InvalidArgumentError */
  latch(name: string): Latch {
    return new Latch(name, this.#present);
  }

  /** A whole number that many raise at once without losing an addition. @throws InvalidArgumentError */
  counter(name: string): Counter {
    return new Counter(name, this.#present);
  }

  /** A queue whose items come again when their consumer dies. @throws InvalidArgumentError */
  queue(name: string): Queue {
    return new Queue(name, this.#present);
  }

  /** Who is there. @throws InvalidArgumentError */
  group(name: string): Group {
    return new Group(name, this.#present);
  }

  status(): ClientStatus {
    const { session, acquires } = this.#incarnation;
    return {
      state: this.state,
      sessionId: session.id,
      server: session.link.server,
      leader: session.link.leader,
      members: session.link.members,
      remainingMs: session.over ? 0 : Math.max(0, session.lease.remainingMs()),
      holds: acquires.holds,
      waits: acquires.waits,
      ...session.load,
    };
  }

  /**
   * Closes this client when the process gets SIGTERM or SIGINT, and then lets it end by that signal: others get its locks at once, instead
   * of when the session expires. Where the application listens for the signal as well, it decides when the process ends, and awaits
   * `close` itself before. Returns what takes it back; `close` does so, too. `process.exit()` in the midst of work gives nothing back.
   *
   * @example
   * client.releaseOnExit();
   * @throws InvalidArgumentError
   */
  releaseOnExit(options: ReleaseOnExitOptions = {}): () => void {
    const takeBack = releaseOnExit(options, { close: () => this.close(), logger: this.#options.logger });
    const forget = (): void => {
      takeBack();
      this.#onClose.delete(forget);
    };
    if (this.#closed === undefined) this.#onClose.add(forget);
    else takeBack();
    return forget;
  }

  /**
   * Ends the session: every hold is lost and every wait fails at once, then the ensemble gives all of them up in one step. Takes at
   * most `closeTimeoutMs`: after that the session ends by its timeout. Never rejects; a second call returns the first one's promise.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    for (const forget of this.#onClose) forget();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `again`: in the place of one that has ended; that is tried for as long as it takes. */
  #incarnate(again = false): Incarnation {
    const options = again ? { ...this.#options, failFast: false } : this.#options;
    return new Incarnation(options, this.#runtime, {
      stateChanged: (incarnation, type, server, reason) => {
        if (type === 'expired') this.#expired(incarnation, server, reason);
        else this.events.emit({ type, sessionId: incarnation.session.id, server, reason });
      },
      releaseUnconfirmed: ({ session }, { lock, locks, token }, error) =>
        this.events.emit({ type: 'release-unconfirmed', sessionId: session.id, lock, locks, token, error }),
      longWait: ({ session }, wait) => {
        const text = `an acquire has waited for ${locksText(wait.locks)} for ${Math.round(wait.waitedMs)} ms: ${describeWait(wait)}`;
        session.logger.warn({ sessionId: session.id, ...wait }, text);
        this.events.emit({ type: 'long-wait', sessionId: session.id, wait });
      },
    });
  }

  /** Every call of the session has failed by now; whoever hears of it finds the next session, if there is to be one. */
  #expired({ session, lost }: Incarnation, server: string | undefined, reason: string): void {
    const { resilient, onSessionLost, logger } = this.#options;
    if (resilient) {
      this.#incarnation = this.#incarnate(true);
      this.#reopen(this.session);
    }
    this.events.emit({ type: 'expired', sessionId: session.id, server, reason });
    if (lost !== undefined) reportLoss(onSessionLost, { sessionId: session.id, ...lost }, logger);
  }

  /** Tries for as long as it takes: calls have limits of their own. */
  #reopen(session: Session): void {
    session.open().catch((error: unknown) => {
      if (this.#closed !== undefined) return;
      this.#options.logger.error({ error }, 'the ensemble refused a new session: the client is over');
      const reason = error instanceof Error ? error.message : String(error);
      this.events.emit({ type: 'closed', sessionId: 0, server: undefined, reason });
    });
  }

  #presentOrHeir(): Incarnation {
    if (this.state !== 'expired' || (this.#closed !== undefined && this.#heir === undefined)) return this.#incarnation;
    if (this.#heir === undefined) {
      const { onSessionLost: _told, ...options } = this.#options;
      this.#heir = new Client({ ...options, resilient: true, failFast: false }, this.#runtime);
      this.#heir.#reopen(this.#heir.session);
    }
    return this.#heir.#incarnation;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#heir?.close(), this.#closeSession()]);
  }

  async #closeSession(): Promise<void> {
    const { session, acquires } = this.#incarnation;
    if (session.over) return;
    const reason = 'the client was closed';
    session.refuseCalls(reason);
    acquires.ended('closed', new ClientClosedError(reason));
    if (session.state === 'connecting') {
      // There is nothing yet that could be given back.
      session.abandon(new ClientClosedError(reason));
      this.events.emit({ type: 'closed', sessionId: 0, server: undefined, reason });
    } else await session.close(reason, this.#options.closeTimeoutMs);
  }
}
