/** What operators ask of the whole ensemble: every lock, every session. Listings are read page by page and are not one moment's picture. */

import { LockKind, MAX_PAGE_ENTRIES, MAX_RELEASE_WITHIN_MS, lockNameProblem } from '@holdfast/protocol';
import type {
  Answer,
  Consistency,
  Deadlock,
  LockDelay,
  LockSummary,
  MembershipChange,
  MemberSummary,
  Query,
  QueueEntry,
  SessionSummary,
} from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError, NotFoundError } from './errors.ts';
import { checkReadOptions, READ_OPTIONS, type ReadOptions } from './nodes.ts';
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
  /** Nobody is granted it for a while, since a holder was lost that had asked for that; undefined where it is not delayed. */
  readonly delay: LockDelay | undefined;
}

export interface Members {
  /** The server that leads; 0 where a server that knows none was asked. */
  readonly leader: number;
  /** By number, as the leader knows them, or as the server that was asked. */
  readonly members: readonly MemberSummary[];
}

/**
 * How deadlocks are read.
 *
 * @example
 * for await (const { steps } of client.admin.deadlocks({ onSkipped: (waits) => console.warn(waits) })) console.log(steps);
 */
export interface DeadlockOptions extends ReadOptions {
  /** Is called when waits were not looked at to their end, with how many: they may be in deadlocks that are not listed. */
  readonly onSkipped?: (waits: number) => void;
}

/**
 * How a holder is asked to release.
 *
 * @example
 * await client.admin.requestRelease('accounts/42', token, { withinMs: 60_000, atDeadline: 'revoke' });
 */
export interface ReleaseRequestOptions extends CallOptions {
  /** How long the holder has, up to a day. @default 30_000 */
  readonly withinMs?: number;
  /**
   * What becomes of the hold when the time is over. `revoke`: it is taken away. `leave`: it stays. A new leader gives the whole time anew, so that
   * it may be longer, and is never shorter. @default 'leave'
   */
  readonly atDeadline?: 'revoke' | 'leave';
  /** The acquire index of one hold, where several have the token. */
  readonly hold?: number;
}

const DEADLOCK_OPTIONS: Record<keyof DeadlockOptions, true> = { onSkipped: true, ...READ_OPTIONS };
const RELEASE_REQUEST_OPTIONS: Record<keyof ReleaseRequestOptions, true> = {
  withinMs: true,
  atDeadline: true,
  hold: true,
  ...CALL_OPTIONS,
};
const DEFAULT_RELEASE_WITHIN_MS = 30_000;

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

  /** Every lock that somebody holds or waits for, or that is delayed, by name, whose name begins with `prefix`. */
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
      delay: answer.delay,
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
   * Every deadlock that is found, the one with the oldest last wait first: sessions in a ring, each of which has what the one before waits for. A
   * session may be many tasks, of which the one that holds need not be the one that waits: so each is a possible deadlock, and one that is still
   * there a moment later is one. Of several that share a wait, the shortest is told. Rejects with UNSUPPORTED as long as the ensemble has servers
   * that can't.
   *
   * @example
   * for await (const { steps } of client.admin.deadlocks())
   *   console.log(steps.map(({ label, holds, waitsFor }) => `${label} holds ${holds}, waits for ${waitsFor}`));
   */
  async *deadlocks(options: DeadlockOptions = {}): AsyncGenerator<Deadlock, void, undefined> {
    checkReadOptions('deadlocks', options, DEADLOCK_OPTIONS);
    const { onSkipped, ...limits } = options;
    let after = 0;
    for (;;) {
      const query: Query = { type: 'deadlocks', after, limit: MAX_PAGE_ENTRIES };
      const page = await this.#ask(query, 'list deadlocks', limits);
      if (page.type !== 'deadlocks') throw unexpected(page.type);
      if (page.skipped > 0) onSkipped?.(page.skipped);
      yield* page.deadlocks;
      const last = page.deadlocks.at(-1)?.steps[0];
      if (!page.more || last === undefined) return;
      after = last.acquireIndex;
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
    const holder = await this.#holderOf(lock, token, hold, limits);
    const { commands } = await this.#session();
    const command = { type: 'revoke', lock, acquireIndex: holder.acquireIndex } as const;
    const reply = await callCommand(commands, command, `revoke "${lock}"`, limits);
    if (reply.type !== 'revoked') throw unexpected(reply.type);
    return { index: reply.index };
  }

  /**
   * Asks whoever holds a lock under that token to release it: its `held.releaseRequested` aborts, and `lockctl show` lists the request. Resolves when
   * the ensemble has it; the hold goes on. A later request takes the place of an earlier one. Rejects as `revoke` does.
   *
   * @example
   * await client.admin.requestRelease('accounts/42', held.token, { withinMs: 60_000, atDeadline: 'revoke' });
   */
  async requestRelease(lock: string, token: number, options: ReleaseRequestOptions = {}): Promise<void> {
    checkLockName(lock);
    checkOptionNames('requestRelease', options, RELEASE_REQUEST_OPTIONS);
    const { withinMs = DEFAULT_RELEASE_WITHIN_MS, atDeadline = 'leave', hold, ...limits } = options;
    if (!Number.isInteger(withinMs) || withinMs < 0 || withinMs > MAX_RELEASE_WITHIN_MS)
      throw new InvalidArgumentError(
        `withinMs is ${String(withinMs)}; it must be a whole number from 0 to ${MAX_RELEASE_WITHIN_MS}`,
      );
    const policy: unknown = atDeadline;
    if (policy !== 'revoke' && policy !== 'leave')
      throw new InvalidArgumentError(`atDeadline is ${JSON.stringify(policy)}; it must be "revoke" or "leave"`);
    const { acquireIndex } = await this.#holderOf(lock, token, hold, limits);
    const { commands } = await this.#session();
    const command = { type: 'requestRelease', lock, acquireIndex, withinMs, revokes: atDeadline === 'revoke' } as const;
    await callCommand(commands, command, `ask for "${lock}"`, limits);
  }

  /** Who holds the lock under that token. */
  async #holderOf(lock: string, token: number, hold: number | undefined, limits: CallOptions): Promise<QueueEntry> {
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
    return holder;
  }

  /**
   * Ends the delay of a lock whose holder was lost: the next in line has it at once. Only for who knows that nothing of the lost holder can arrive
   * any more, or that what the lock protects refuses its token. Resolves with an index above that token and not above that of any later grant,
   * as `revoke` does. Rejects with NotFoundError when the lock is not delayed, or not by that delay any more.
   *
   * @example
   * const { index } = await client.admin.endLockDelay('accounts/42');
   */
  async endLockDelay(lock: string, options: CallOptions = {}): Promise<{ readonly index: number }> {
    checkLockName(lock);
    checkOptionNames('endLockDelay', options, CALL_OPTIONS);
    const { delay } = await this.lock(lock, { ...options, consistency: 'linearizable' });
    if (delay === undefined) throw new NotFoundError(`lock "${lock}" is not delayed`, { code: 'NOT_FOUND' });
    const { commands } = await this.#session();
    const command = { type: 'revoke', lock, acquireIndex: delay.index } as const;
    const reply = await callCommand(commands, command, `end the delay of "${lock}"`, options);
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
