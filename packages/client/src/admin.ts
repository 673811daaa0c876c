/** What operators ask of the whole ensemble: every lock, every session. Listings are read page by page and are not one moment's picture. */

import { LockKind, MAX_PAGE_ENTRIES, lockNameProblem } from '@holdfast/protocol';
import type {
  Answer,
  Consistency,
  LockSummary,
  MembershipChange,
  MemberSummary,
  Query,
  QueueEntry,
  SessionSummary,
} from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError, NotFoundError } from './errors.ts';
import { checkReadOptions, type ReadOptions } from './nodes.ts';
import { checkOptionNames } from './option-names.ts';
import type { AskingChannels } from './session/asker.ts';
import { CALL_OPTIONS, type CallOptions } from './session/call.ts';
import { callAdmin, type AdminOptions } from './session/channels/admin-pipeline.ts';
import { callQuery } from './session/channels/read-pipeline.ts';
import { callCommand } from './session/channels/request-pipeline.ts';
import type { Session } from './session/session.ts';

export interface LockDetails {
  readonly lock: string;
  /**
   * The number of its kind: 0 for a mutex and where nobody holds it, 1 for a read-write lock, 2 for a semaphore; servers of a later version may
   * have others.
   */
  readonly kind: number;
  readonly holders: readonly QueueEntry[];
  /** In the order in which they will be granted. */
  readonly waiters: readonly QueueEntry[];
  /** More wait than are listed. */
  readonly truncated: boolean;
}

export interface Members {
  /** The server that leads; 0 where a server that knows none was asked. */
  readonly leader: number;
  /** By number, as the leader knows them, or as the server that was asked. */
  readonly members: readonly MemberSummary[];
}

export class Admin {
  readonly #asker: AskingChannels;
  readonly #consistency: Consistency;
  readonly #session: () => Promise<Session>;

  /** @internal `session`: by which another is ended. */
  constructor(asker: AskingChannels, consistency: Consistency, session: () => Promise<Session>) {
    this.#asker = asker;
    this.#consistency = consistency;
    this.#session = session;
  }

  /** Every lock that somebody holds or waits for, by name, whose name begins with `prefix`. */
  async *locks(prefix = '', options: ReadOptions = {}): AsyncGenerator<LockSummary, void, undefined> {
    if (typeof prefix !== 'string')
      throw new InvalidArgumentError('locks takes the beginning of a name as text, and options after it');
    checkReadOptions('locks', options);
    let after = '';
    for (;;) {
      const query: Query = { type: 'locks', prefix, after, limit: MAX_PAGE_ENTRIES };
      const page = await this.#ask(query, 'list locks', options);
      if (page.type !== 'locks') throw unexpected(page.type);
      yield* page.locks;
      const last = page.locks.at(-1);
      if (!page.more || last === undefined) return;
      after = last.lock;
    }
  }

  /** Holders and queue of one lock; both empty when nobody holds it or waits. One who waits for another lock, too, may wait for one that nobody holds. */
  async lock(name: string, options: ReadOptions = {}): Promise<LockDetails> {
    checkLockName(name);
    checkReadOptions('lock', options);
    const answer = await this.#ask({ type: 'lock', lock: name }, `show lock "${name}"`, options);
    if (answer.type !== 'lock') throw unexpected(answer.type);
    return {
      lock: name,
      kind: answer.kind ?? LockKind.mutex,
      holders: answer.queue.filter((entry) => entry.token !== 0),
      waiters: answer.queue.filter((entry) => entry.token === 0),
      truncated: answer.truncated,
    };
  }

  /** Every session, by id. */
  async *sessions(options: ReadOptions = {}): AsyncGenerator<SessionSummary, void, undefined> {
    checkReadOptions('sessions', options);
    let after = 0;
    for (;;) {
      const query: Query = { type: 'sessions', after, limit: MAX_PAGE_ENTRIES };
      const page = await this.#ask(query, 'list sessions', options);
      if (page.type !== 'sessions') throw unexpected(page.type);
      yield* page.sessions;
      const last = page.sessions.at(-1);
      if (!page.more || last === undefined) return;
      after = last.session;
    }
  }

  /**
   * Ends somebody's session by force: its locks go to the next in line at once, while its owner learns of it only when the message
   * arrives. Rejects with NotFoundError.
   */
  async closeSession(id: number, options: CallOptions = {}): Promise<void> {
    checkOptionNames('closeSession', options, CALL_OPTIONS);
    if (!Number.isSafeInteger(id) || id <= 0) {
      throw new InvalidArgumentError(`session ${String(id)} is not a session's id; those are positive whole numbers`);
    }
    const { commands } = await this.#session();
    await callCommand(commands, { type: 'closeSession', session: id }, `close session ${id}`, options);
  }

  /**
   * Takes a lock away from whoever holds it under that token: the next in line has it at once, while its holder learns of it only when the
   * message arrives. Resolves with an index above the token, and not above that of any later grant: a resource that is told of it refuses
   * the revoked holder from then on, also where nobody takes the lock again. Rejects with NotFoundError when nobody holds it under that
   * token, with InvalidArgumentError when several do (name one by `hold`, its acquire index), and with UNSUPPORTED as long as the ensemble
   * has servers that can't.
   *
   * @example
   * const { index } = await client.admin.revoke('accounts/42', held.token);
   * await store.bucket('accounts').install(index);
   */
  async revoke(
    lock: string,
    token: number,
    options: CallOptions & { readonly hold?: number } = {},
  ): Promise<{ readonly index: number }> {
    checkLockName(lock);
    checkOptionNames('revoke', options, { hold: true, ...CALL_OPTIONS });
    const { hold, ...limits } = options;
    for (const [what, number] of [['token', token] as const, ['hold', hold ?? 1] as const]) {
      if (Number.isSafeInteger(number) && number > 0) continue;
      throw new InvalidArgumentError(
        `${what} ${String(number)} is no index of the log; those are positive whole numbers`,
      );
    }
    const { holders } = await this.lock(lock, { ...limits, consistency: 'linearizable' });
    const found = holders.filter((each) => each.token === token && (hold ?? each.acquireIndex) === each.acquireIndex);
    const [holder] = found;
    const under = `lock "${lock}" under token ${token}`;
    if (holder === undefined) {
      const held = holders.map((each) => each.token).join(', ');
      const now = held === '' ? 'nobody holds it' : `it is held under ${held}`;
      const by = hold === undefined ? '' : ` by acquire ${hold}`;
      throw new NotFoundError(`nobody holds ${under}${by}: ${now}`, { code: 'NOT_FOUND' });
    }
    if (found.length > 1) {
      const holds = found.map(({ acquireIndex, session }) => `${acquireIndex} (session ${session})`).join(', ');
      throw new InvalidArgumentError(`${found.length} hold ${under}; say which by hold: ${holds}`);
    }
    const { commands } = await this.#session();
    const command = { type: 'revoke', lock, acquireIndex: holder.acquireIndex } as const;
    const reply = await callCommand(commands, command, `revoke "${lock}"`, limits);
    if (reply.type !== 'revoked') throw unexpected(reply.type);
    return { index: reply.index };
  }

  /**
   * Transfers leadership to a server, or to the best follower if none is named; resolves with the server that leads then. Requests that
   * arrive meanwhile wait and are answered afterwards. Rejects with TRANSFER_REFUSED when the server can't take over now or did not
   * in time (the old leader goes on then), and with NotFoundError for a server that is no member.
   */
  async transferLeadership(server = 0, options: CallOptions = {}): Promise<number> {
    checkOptionNames('transferLeadership', options, CALL_OPTIONS);
    if (!Number.isSafeInteger(server) || server < 0) {
      throw new InvalidArgumentError(`server ${String(server)} is not a server's id; those are positive whole numbers`);
    }
    const what = server === 0 ? 'transfer leadership' : `transfer leadership to server ${server}`;
    const answer = await callAdmin(this.#asker.admin, { type: 'transfer', server }, what, options);
    if (answer.type !== 'transferred') throw unexpected(answer.type);
    return answer.server;
  }

  /** Who belongs to the ensemble, and in which role: as the leader knows it, for a stale operator's client as any server does. */
  async members(options: AdminOptions = {}): Promise<Members> {
    checkOptionNames('members', options, { onAnswer: true, ...CALL_OPTIONS });
    const local = this.#consistency === 'local';
    const answer = await callAdmin(this.#asker.admin, { type: 'members', local }, 'list members', options);
    if (answer.type !== 'members') throw unexpected(answer.type);
    return { leader: answer.leader, members: answer.members };
  }

  /**
   * Adds a server under a number that no server of the cluster ever had. It is a learner, without a vote, until it has caught up, and then
   * becomes a voter by itself; an observer stays without a vote. `joinSecret` is what the server prints while it waits to be added: by it
   * the two know each other, so with a wrong one the server never gets anything; add it again with the right one. Resolves when it is a
   * member, whether it runs or not. Rejects with MEMBER_EXISTS when the number or the address is taken, and with MEMBERSHIP_REFUSED when it
   * can't be done now.
   */
  async addMember(
    server: number,
    peerAddress: string,
    options: CallOptions & { readonly joinSecret: string; readonly observer?: boolean },
  ): Promise<Members> {
    checkOptionNames('addMember', options, { joinSecret: true, observer: true, ...CALL_OPTIONS });
    const { joinSecret, observer = false } = options;
    const change = { type: 'add', server, peerAddress, observer, joinSecret } as const;
    return await this.#changeMembers(change, `add server ${server}`, options);
  }

  /**
   * Gives an observer a vote, or a learner that did not catch up by itself; resolves when it has it. Rejects with MEMBERSHIP_REFUSED when
   * it lags too far behind, and with NotFoundError for a server that is no member.
   */
  async promoteMember(server: number, options: CallOptions = {}): Promise<Members> {
    checkOptionNames('promoteMember', options, CALL_OPTIONS);
    return await this.#changeMembers({ type: 'promote', server }, `promote server ${server}`, options);
  }

  /**
   * Removes a server for good: its number is never used again, and its process ends by itself. Rejects with MEMBERSHIP_REFUSED when too
   * few of the others can be reached to go on without it, and with NotFoundError for a server that never was a member.
   */
  async removeMember(server: number, options: CallOptions = {}): Promise<Members> {
    checkOptionNames('removeMember', options, CALL_OPTIONS);
    return await this.#changeMembers({ type: 'remove', server }, `remove server ${server}`, options);
  }

  #ask(query: Query, what: string, options: ReadOptions): Promise<Answer> {
    return callQuery(this.#asker.reads, query, what, {
      ...options,
      consistency: options.consistency ?? this.#consistency,
    });
  }

  async #changeMembers(change: MembershipChange, what: string, options: CallOptions): Promise<Members> {
    checkServer(change.server);
    const answer = await callAdmin(this.#asker.admin, { type: 'change-membership', change }, what, options);
    if (answer.type !== 'members') throw unexpected(answer.type);
    return { leader: answer.leader, members: answer.members };
  }
}

function checkServer(server: number): void {
  if (Number.isSafeInteger(server) && server > 0) return;
  throw new InvalidArgumentError(`server ${String(server)} is not a server's id; those are positive whole numbers`);
}

/** @throws InvalidArgumentError */
export function checkLockName(name: string): void {
  const problem = typeof name === 'string' ? lockNameProblem(name) : 'is not text';
  if (problem !== undefined) throw new InvalidArgumentError(`lock name ${JSON.stringify(name)} ${problem}`);
}

function unexpected(type: string): HoldfastError {
  return new HoldfastError(`a listing was answered with ${type}; client and server do not match`, {
    code: 'UNSUPPORTED',
  });
}
