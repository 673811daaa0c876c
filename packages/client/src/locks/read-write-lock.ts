/** A lock that many hold together to read, or one alone to write. Its two sides are locks like any other. */

import type { Present } from '../incarnations/incarnation.ts';
import { checkOptionNames } from '../option-names.ts';
import type { LockEvent, LockWatchOptions } from './lock-watch.ts';
import { Lock } from './lock.ts';
import { LOCK_OPTIONS, withOptions, type LockOptions } from './lock-options.ts';
import { wantedOf } from './wanted.ts';

/**
 * Whoever comes first is granted first: who is to read behind one who waits to write waits for that, so that writers are not starved.
 *
 * A hold to write can be downgraded to one to read. There is no way back: two who read and both waited to write would wait for each
 * other for ever. Release, and acquire to write; then read again what you have decided by.
 *
 * @example
 * const config = client.readWriteLock('config');
 * const value = await config.read().withLock(() => load());
 * await config.write().withLock((held) => store.put('config', value, { token: held.token }));
 */
export class ReadWriteLock {
  readonly name: string;
  readonly #read: Lock;
  readonly #write: Lock;

  /** @internal Use `client.readWriteLock`. */
  constructor(name: string, options: LockOptions, present: Present) {
    checkOptionNames('readWriteLock', options, LOCK_OPTIONS);
    this.name = name;
    const side = (write: boolean): Lock => {
      const wanted = wantedOf({ lock: name, asked: { type: 'readWrite', write } });
      return new Lock(withOptions(wanted, options), present);
    };
    this.#read = side(false);
    this.#write = side(true);
  }

  /** To be held beside others who read; `held.mode` is `read`. Those who are granted it by one entry of the log have the same token. */
  read(): Lock {
    return this.#read;
  }

  /** To be held alone; `held.mode` is `write`, and `held.downgrade()` goes on reading. */
  write(): Lock {
    return this.#write;
  }

  /**
   * Tells who holds the lock and who waits, and each change from then on, as `watch` of a lock does. Those who read are all among the holders.
   *
   * @example
   * for await (const { type, holders, waiters } of client.readWriteLock('config').watch()) console.log(type, holders.length, waiters);
   */
  watch(options: LockWatchOptions = {}): AsyncGenerator<LockEvent, void, undefined> {
    return this.#read.watch(options);
  }
}
