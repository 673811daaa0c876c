/**
 * Any number of readers, or one writer. The queue is fair to both sides: readers that come behind a waiting writer wait for it, and all
 * readers up to the next writer are granted together.
 */

import type { Present } from '../../incarnations/incarnation.ts';
import type { ReadWriteHold } from '../holds/read-write-hold.ts';
import { Lock } from '../lock.ts';

/**
 * Any number of readers, or one writer, in the order in which they came. Made by `client.readWriteLock`.
 *
 * @example
 * const report = client.readWriteLock('report');
 * await report.read().withLock(() => work());
 * await report.write().withLock((writing) => store.put('report', value, { token: writing.token }));
 */
export class ReadWriteLock {
  readonly name: string;
  readonly #read: Lock<ReadWriteHold>;
  readonly #write: Lock<ReadWriteHold>;

  /** @internal */
  constructor(name: string, present: Present) {
    this.name = name;
    this.#read = new Lock(name, { type: 'readWrite', mode: 'read' }, present);
    this.#write = new Lock(name, { type: 'readWrite', mode: 'write' }, present);
  }

  /** For reading, beside others who read. */
  read(): Lock<ReadWriteHold> {
    return this.#read;
  }

  /**
   * For writing, alone. A hold for writing can be downgraded; one for reading can't be upgraded, and whoever acquires for writing while it holds
   * for reading waits for itself.
   */
  write(): Lock<ReadWriteHold> {
    return this.#write;
  }
}
