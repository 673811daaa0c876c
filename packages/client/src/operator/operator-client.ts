/**
 * What an operator uses: reads, the members, and what gives something back, also in an outage. It has no session, which could not be made
 * without a majority, or while the servers' disks are almost full; only a delete and a forced end of a session make one, which
 * servers take then, too. Made by `connectOperator`.
 */

import type { Consistency } from '@holdfast/protocol';
import { Admin } from '../admin.ts';
import type { Client } from '../client.ts';
import { ClientClosedError } from '../errors.ts';
import { NodeReads, Nodes, type VersionOptions } from '../nodes.ts';
import { openResolved } from '../open-client.ts';
import type { ResolvedOptions } from '../options.ts';
import type { Asker } from '../session/asker.ts';
import type { ClientRuntime, Session } from '../session/session.ts';
import { OperatorAsker } from './operator-asker.ts';

/**
 * Nodes as an operator may read and give them back.
 *
 * @example
 * console.log((await operator.nodes.children('/')).names);
 */
export class OperatorNodes extends NodeReads {
  readonly #session: () => Promise<Session>;

  /** @internal */
  constructor(asker: Asker, consistency: Consistency, session: () => Promise<Session>) {
    super(asker, consistency);
    this.#session = session;
  }

  /** Exactly once, through a session that is made for it. Rejects with NotFoundError, BadVersionError and NotEmptyError. */
  async delete(path: string, options: VersionOptions = {}): Promise<void> {
    const session = await this.#session();
    await new Nodes(() => session).delete(path, options);
  }
}

/**
 * What operators ask, without a session. Made by `connectOperator`.
 *
 * @example
 * const operator = await connectOperator({ servers });
 * console.log((await operator.admin.members()).leader);
 * await operator.close();
 */
export class OperatorClient implements AsyncDisposable {
  readonly nodes: OperatorNodes;
  readonly admin: Admin;
  readonly #asker: OperatorAsker;
  readonly #options: ResolvedOptions;
  readonly #runtime: ClientRuntime;
  /** By which something is given back; undefined until then. */
  #giver: Promise<Client> | undefined;
  #closed: Promise<void> | undefined;

  /** @internal Use `connectOperator`. */
  constructor(options: ResolvedOptions, runtime: ClientRuntime) {
    this.#options = options;
    this.#runtime = runtime;
    this.#asker = new OperatorAsker(options, runtime);
    const session = async (): Promise<Session> => (await this.#give()).session;
    const consistency = options.purpose === 'ask-anyone' ? 'local' : 'linearizable';
    this.nodes = new OperatorNodes(this.#asker, consistency, session);
    this.admin = new Admin(this.#asker, consistency, session);
  }

  /** @internal */
  get asker(): OperatorAsker {
    return this.#asker;
  }

  /** Calls that are not answered fail. Takes at most `closeTimeoutMs`, and never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#asker.close('the client was closed');
    const giver = await this.#giver?.catch(() => undefined);
    await giver?.close();
  }

  /** A client whose session servers take while their disks are almost full; another when that has ended. */
  async #give(): Promise<Client> {
    if (this.#closed !== undefined) throw new ClientClosedError('the client was closed; connect again');
    const present = await this.#giver?.catch(() => undefined);
    if (present !== undefined && !present.session.over) return present;
    this.#giver = openResolved({ ...this.#options, purpose: 'give-back' }, this.#runtime);
    return await this.#giver;
  }
}
