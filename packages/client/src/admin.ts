/** What operators ask of the whole ensemble: every lock, every session. Listings are read page by page and are not one moment's picture. */

import { MAX_PAGE_ENTRIES, lockNameProblem } from '@holdfast/protocol';
import type { LockSummary, Query, QueueEntry, SessionSummary } from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError } from './errors.ts';
import type { ReadOptions } from './nodes.ts';
import { callAdmin } from './session/admin-calls.ts';
import { callCommand, callQuery, type CallOptions } from './session/call.ts';
import type { Session } from './session/session.ts';

export interface LockDetails {
  readonly lock: string;
  readonly holders: readonly QueueEntry[];
  /** In the order in which they will be granted. */
  readonly waiters: readonly QueueEntry[];
  /** More wait than are listed. */
  readonly truncated: boolean;
}

export class Admin {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /** Every lock that somebody holds or waits for, by name, whose name begins with `prefix`. */
  async *locks(prefix = '', options: ReadOptions = {}): AsyncGenerator<LockSummary, void, undefined> {
    let after = '';
    for (;;) {
      const query: Query = { type: 'locks', prefix, after, limit: MAX_PAGE_ENTRIES };
      const page = await callQuery(this.#session, query, 'list locks', options);
      if (page.type !== 'locks') throw unexpected(page.type);
      yield* page.locks;
      const last = page.locks.at(-1);
      if (!page.more || last === undefined) return;
      after = last.lock;
    }
  }

  /** Holders and queue of one lock; both empty when nobody holds it. */
  async lock(name: string, options: ReadOptions = {}): Promise<LockDetails> {
    checkLockName(name);
    const answer = await callQuery(this.#session, { type: 'lock', lock: name }, `show lock "${name}"`, options);
    if (answer.type !== 'lock') throw unexpected(answer.type);
    return {
      lock: name,
      holders: answer.queue.filter((entry) => entry.token !== 0),
      waiters: answer.queue.filter((entry) => entry.token === 0),
      truncated: answer.truncated,
    };
  }

  /** Every session, by id. */
  async *sessions(options: ReadOptions = {}): AsyncGenerator<SessionSummary, void, undefined> {
    let after = 0;
    for (;;) {
      const query: Query = { type: 'sessions', after, limit: MAX_PAGE_ENTRIES };
      const page = await callQuery(this.#session, query, 'list sessions', options);
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
    if (!Number.isSafeInteger(id) || id <= 0) {
      throw new InvalidArgumentError(`session ${String(id)} is not a session's id; those are positive whole numbers`);
    }
    await callCommand(this.#session, { type: 'closeSession', session: id }, `close session ${id}`, options);
  }

  /**
   * Hands leadership to a server, or to the best follower if none is named; resolves with the server that leads then. Requests that
   * arrive meanwhile wait and are answered afterwards. Rejects with TRANSFER_REFUSED when the server can't take over now or did not
   * in time (the old leader goes on then), and with NotFoundError for a server that is no member.
   */
  async transferLeadership(server = 0, options: CallOptions = {}): Promise<number> {
    if (!Number.isSafeInteger(server) || server < 0) {
      throw new InvalidArgumentError(`server ${String(server)} is not a server's id; those are positive whole numbers`);
    }
    const what = server === 0 ? 'transfer leadership' : `transfer leadership to server ${server}`;
    const answer = await callAdmin(this.#session, { type: 'transfer', server }, what, options);
    if (answer.type !== 'transferred') throw unexpected(answer.type);
    return answer.server;
  }
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
