/**
 * The delay of a lock: a hold was lost whose owner had asked that the next grant waits, as Chubby and Consul have it, so that what the lost
 * holder has sent can arrive before another writes. Named by the entry that ended the hold. When it is over the leader says, by its clock;
 * nothing here compares times.
 */

import { MAX_LOCK_DELAY_MS, type LockDelay } from '@holdfast/protocol';

import { ExtraTag } from '../tree/extra-tag.ts';
import { extrasBytes } from '../tree/storage/node-extras.ts';

export type { LockDelay } from '@holdfast/protocol';

/** Index (f64), token (f64), since (f64), milliseconds (u32). */
const DELAY_BYTES = 28;
/** What it counts among the data. */
export const DELAY_EXTRA_BYTES = extrasBytes([{ tag: ExtraTag.lockDelay, bytes: new Uint8Array(DELAY_BYTES) }]);

/** As the extra of its lock's container. */
export function packDelay({ index, delayMs, since, token }: LockDelay): Uint8Array {
  const bytes = new Uint8Array(DELAY_BYTES);
  const view = new DataView(bytes.buffer);
  view.setFloat64(0, index, true);
  view.setFloat64(8, token, true);
  view.setFloat64(16, since, true);
  view.setUint32(24, delayMs, true);
  return bytes;
}

/** Undefined for what is none. */
export function readDelay(bytes: Uint8Array): LockDelay | undefined {
  if (bytes.length !== DELAY_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const delay = {
    index: view.getFloat64(0, true),
    delayMs: view.getUint32(24, true),
    since: view.getFloat64(16, true),
    token: view.getFloat64(8, true),
  };
  const { index, delayMs, since, token } = delay;
  const whole = [index, since, token].every((value) => Number.isSafeInteger(value) && value >= 0);
  const sound = whole && token > 0 && token < index && delayMs > 0 && delayMs <= MAX_LOCK_DELAY_MS;
  return sound ? delay : undefined;
}

/** Another hold was lost while the lock was delayed, or the first: it is named anew, and the longest delay counts from there. */
export function prolonged(before: LockDelay | undefined, lost: LockDelay): LockDelay {
  if (before === undefined) return lost;
  return { ...lost, delayMs: Math.max(before.delayMs, lost.delayMs), token: Math.max(before.token, lost.token) };
}
