/**
 * The Web Locks API, as browsers have it in `navigator.locks`, over an ensemble: what is written for the one runs on the other. A granted lock
 * has a token and a signal besides. Every request is for a read-write lock, to write unless its mode is `shared`: the ensemble refuses a name that is
 * used as a plain lock at the same time. What an ensemble cannot do as the specification says is refused with NotSupportedError: `steal`,
 * since a hold is taken away by operators alone.
 */

import type { LockRequest, QueueEntry } from '@holdfast/protocol';
import type { Client } from '../client.ts';
import { runHolding } from '../locks/acquiring.ts';
import type { HeldLock } from '../locks/held-lock.ts';
import { requestOf } from '../locks/wanted.ts';
import { checkOptionNames } from '../option-names.ts';

/**
 * As the specification has them.
 *
 * @example
 * await webLocks(client).request('config', { mode: 'shared' }, () => load());
 */
export type WebLockMode = 'exclusive' | 'shared';

export interface WebLockOptions {
  /** `shared`: beside others who share it. @default 'exclusive' */
  readonly mode?: WebLockMode;
  /** Calls back with null when the lock is not free. @default false */
  readonly ifAvailable?: boolean;
  /** @default false */
  readonly steal?: boolean;
  /** Gives the request up, with the signal's reason; without effect on a lock that was granted. */
  readonly signal?: AbortSignal;
}

export interface WebLock {
  readonly name: string;
  readonly mode: WebLockMode;
  /** To be given to whatever the lock protects. */
  readonly token: number;
  /** Aborts when the lock is lost. */
  readonly signal: AbortSignal;
}

export interface WebLockInfo {
  readonly name: string;
  /** `shared`, too, for who reads under a read-write lock, or has permits of a semaphore. */
  readonly mode: WebLockMode;
  /** The session that holds or waits. */
  readonly clientId: string;
}

export interface WebLocksSnapshot {
  readonly held: readonly WebLockInfo[];
  readonly pending: readonly WebLockInfo[];
}

type Granted<T> = (lock: WebLock) => T | PromiseLike<T>;
type GrantedOrNull<T> = (lock: WebLock | null) => T | PromiseLike<T>;

const OPTION_NAMES: Record<keyof WebLockOptions, true> = { mode: true, ifAvailable: true, steal: true, signal: true };

export class WebLocks {
  readonly #client: Client;

  /** @internal Use `webLocks`. */
  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Calls back with the lock, and releases it when what the callback returns has settled. Gives the callback's result. Rejects with
   * LockLostError, too, when the lock was lost meanwhile.
   */
  request<T>(name: string, callback: Granted<T>): Promise<T>;
  request<T>(
    name: string,
    options: WebLockOptions & { readonly ifAvailable: true },
    callback: GrantedOrNull<T>,
  ): Promise<T>;
  request<T>(name: string, options: WebLockOptions, callback: Granted<T>): Promise<T>;
  async request<T>(name: string, given: WebLockOptions | Granted<T>, last?: Granted<T> | GrantedOrNull<T>): Promise<T> {
    const options = typeof given === 'function' ? {} : given;
    // Whoever passes no ifAvailable is never called with null.
    const callback = (typeof given === 'function' ? given : last) as GrantedOrNull<T>;
    checkOptionNames('request', options, OPTION_NAMES);
    if (typeof callback !== 'function') throw new TypeError('request takes a callback as its last argument');
    checkSupported(name, options);
    const { mode, ifAvailable = false, signal } = options;
    const sides = this.#client.readWriteLock(name);
    const lock = mode === 'shared' ? sides.read() : sides.write();
    if (!ifAvailable)
      return await lock.withLock((held) => callback(toWebLock(held)), signal === undefined ? {} : { signal });
    const attempt = await lock.tryAcquire();
    if (!attempt.acquired) return await callback(null);
    return await runHolding(attempt.held, (held) => callback(toWebLock(held)));
  }

  /** Who holds and who waits, of all locks of the ensemble; not one moment's picture. */
  async query(): Promise<WebLocksSnapshot> {
    const held: WebLockInfo[] = [];
    const pending: WebLockInfo[] = [];
    for await (const { lock } of this.#client.admin.locks()) {
      const { kind, holders, waiters } = await this.#client.admin.lock(lock);
      const infoOf = ({ session, parameters }: QueueEntry): WebLockInfo => {
        return { name: lock, mode: modeOf(requestOf(kind, parameters)), clientId: String(session) };
      };
      held.push(...holders.map(infoOf));
      pending.push(...waiters.map(infoOf));
    }
    return { held, pending };
  }
}

/**
 * @example
 * const locks = webLocks(client);
 * await locks.request('accounts/42', async (lock) => await store.put('42', value, { token: lock.token }));
 */
export function webLocks(client: Client): WebLocks {
  return new WebLocks(client);
}

function toWebLock({ lock, mode, token, signal }: HeldLock): WebLock {
  return { name: lock, mode: mode === 'read' ? 'shared' : 'exclusive', token, signal };
}

/** What only a later version knows is not said to be shared. */
function modeOf(request: LockRequest | undefined): WebLockMode {
  return (request?.type === 'readWrite' && !request.write) || request?.type === 'semaphore' ? 'shared' : 'exclusive';
}

/** What the specification refuses, and what is not to be had here. */
function checkSupported(
  name: string,
  { mode = 'exclusive', ifAvailable = false, steal = false, signal }: WebLockOptions,
): void {
  if (mode !== 'exclusive' && mode !== 'shared')
    throw new TypeError(`mode is ${JSON.stringify(mode)}; it must be "exclusive" or "shared"`);
  if (typeof name === 'string' && name.startsWith('-'))
    throw notSupported(`the name ${JSON.stringify(name)} begins with "-"`);
  if (ifAvailable && signal !== undefined) throw notSupported('ifAvailable does not wait, so that it takes no signal');
  if (steal) throw notSupported('nobody can steal a lock here; an operator can release it');
}

function notSupported(problem: string): DOMException {
  return new DOMException(problem, 'NotSupportedError');
}
