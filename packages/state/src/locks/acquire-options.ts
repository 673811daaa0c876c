/** What an acquire asked for that counts later than its place in the queue, as its queue node keeps it. */

import { MalformedError, MAX_LOCK_DELAY_MS, pack, unpackTuple, type AcquireOptions } from '@holdfast/protocol';

export type { AcquireOptions } from '@holdfast/protocol';

/** Of an acquire that names none. */
export const NO_OPTIONS: AcquireOptions = { lockDelayMs: 0, abortInDeadlock: false };

/** Undefined where it asked for nothing: that takes no room. */
export function packOptions({ lockDelayMs, abortInDeadlock }: AcquireOptions): Uint8Array | undefined {
  return lockDelayMs === 0 && !abortInDeadlock ? undefined : pack([lockDelayMs, abortInDeadlock]);
}

/** Undefined for what is none, or is never kept. */
export function readOptions(bytes: Uint8Array): AcquireOptions | undefined {
  try {
    const reader = unpackTuple(bytes, 'options of an acquire');
    const options = {
      lockDelayMs: reader.integer('lockDelayMs'),
      abortInDeadlock: reader.boolean('abortInDeadlock'),
    };
    const asked = options.lockDelayMs > 0 || options.abortInDeadlock;
    return reader.remaining === 0 && asked && options.lockDelayMs <= MAX_LOCK_DELAY_MS ? options : undefined;
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}

export function sameOptions(left: AcquireOptions, right: AcquireOptions): boolean {
  return left.lockDelayMs === right.lockDelayMs && left.abortInDeadlock === right.abortInDeadlock;
}
