/**
 * The Web Locks API, as browsers have it in `navigator.locks`, over an ensemble: what is written for the one runs on the other. A granted lock
 * has a token and a signal besides. What an ensemble cannot do as the specification says is refused with NotSupportedError: `steal`, since a
 * hold is taken away by operators alone, and the mode `shared`.
 */

import type { Client } from '../client.ts';
import { LockLostError } from '../errors.ts';
import type { HeldLock } from '../locks/held-lock.ts';
import { checkOptionNames } from '../option-names.ts';

/**
 * How a request waits.
 *
 * @example
 * await webLocks(client).request('jobs', { ifAvailable: true }, async (lock) => console.log(lock !== null));
 */
export interface WebLockOptions {
  /** @default 'exclusive' */
  readonly mode?: 'exclusive' | 'shared';
  /** Calls back with null when the lock is not free. @default false */
  readonly ifAvailable?: boolean;
  /** @default false */
  readonly steal?: boolean;
  /** Gives the request up, with the signal's reason; without effect on a lock that was granted. */
  readonly signal?: AbortSignal;
}

/**
 * A lock as the callback of `request` is given it.
 *
 * @example
 * await webLocks(client).request('jobs', async (lock) => console.log(lock?.name));
 */
export interface WebLock {
  readonly name: string;
  readonly mode: 'exclusive';
  /** To be given to whatever the lock protects. */
  readonly token: number;
  /** Aborts when the lock is lost. */
  readonly signal: AbortSignal;
}

/**
 * A lock in the snapshot of `query`.
 *
 * @example
 * for (const { name } of (await webLocks(client).query()).held) console.log(name);
 */
export interface WebLockInfo {
  readonly name: string;
  readonly mode: 'exclusive';
  /** The session that holds or waits. */
  readonly clientId: string;
}

/**
 * Who holds and who waits, of this client.
 *
 * @example
 * const { held, pending } = await webLocks(client).query();
 */
export interface WebLocksSnapshot {
  readonly held: readonly WebLockInfo[];
  readonly pending: readonly WebLockInfo[];
}

type Granted<T> = (lock: WebLock) => T | PromiseLike<T>;
type GrantedOrNull<T> = (lock: WebLock | null) => T | PromiseLike<T>;

const OPTION_NAMES: Record<keyof WebLockOptions, true> = { mode: true, ifAvailable: true, steal: true, signal: true };

/**
 * The shape of the Web Locks API, over locks of the ensemble. Made by `webLocks`.
 *
 * @example
 * await webLocks(client).request('jobs', async () => work());
 */
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
    const { ifAvailable = false, signal } = options;
    const lock = this.#client.lock(name);
    if (!ifAvailable)
      return await lock.withLock((held) => callback(toWebLock(held)), signal === undefined ? {} : { signal });
    const attempt = await lock.tryAcquire();
    return attempt.acquired ? await runHolding(attempt.held, callback) : await callback(null);
  }

  /** Who holds and who waits, of all locks of the ensemble; not one moment's picture. */
  async query(): Promise<WebLocksSnapshot> {
    const held: WebLockInfo[] = [];
    const pending: WebLockInfo[] = [];
    for await (const { lock } of this.#client.admin.locks()) {
      const { holders, waiters } = await this.#client.admin.lock(lock);
      const infoOf = ({ session }: { readonly session: number }): WebLockInfo => {
        return { name: lock, mode: 'exclusive', clientId: String(session) };
      };
      held.push(...holders.map(infoOf));
      pending.push(...waiters.map(infoOf));
    }
    return { held, pending };
  }
}

/**
 * Locks of the ensemble with the shape of the Web Locks API.
 *
 * @example
 * const locks = webLocks(client);
 * await locks.request('accounts/42', async (lock) => await store.put('42', value, { token: lock.token }));
 */
export function webLocks(client: Client): WebLocks {
  return new WebLocks(client);
}

async function runHolding<T>(held: HeldLock, callback: GrantedOrNull<T>): Promise<T> {
  let result: T;
  try {
    result = await callback(toWebLock(held));
  } catch (error) {
    await held[Symbol.asyncDispose]();
    throw error;
  }
  try {
    await held.release();
  } catch (error) {
    // Any other: the release goes on in the background, and is an event of the client.
    if (error instanceof LockLostError) throw error;
  }
  return result;
}

function toWebLock(held: HeldLock): WebLock {
  return { name: held.lock, mode: 'exclusive', token: held.token, signal: held.signal };
}

/** What the specification refuses, and what is not to be had here. */
function checkSupported(
  name: string,
  { mode = 'exclusive', ifAvailable = false, steal = false, signal }: WebLockOptions,
): void {
  if (mode !== 'exclusive' && mode !== 'shared')
    throw new TypeError(`mode is ${JSON.stringify(mode)}; it must be "exclusive"`);
  if (typeof name === 'string' && name.startsWith('-'))
    throw notSupported(`the name ${JSON.stringify(name)} begins with "-"`);
  if (ifAvailable && signal !== undefined) throw notSupported('ifAvailable does not wait, so that it takes no signal');
  if (steal) throw notSupported('nobody can steal a lock here; an operator can release it');
  if (mode === 'shared') throw notSupported('the mode "shared" is not to be had here');
}

function notSupported(problem: string): DOMException {
  return new DOMException(problem, 'NotSupportedError');
}
