/**
 * What a cached answer counts for: about the memory that it keeps, objects, numbers and text. The same on every server, however its
 * state came about, since it decides what is refused.
 */

import type { Reply } from '@holdfast/protocol';

/** An acquire, whose present state is the answer. */
export interface CachedAcquire {
  readonly lock: { readonly name: string };
  readonly acquireIndex: number;
  /** 0 while it waits, and when it was gone before it was granted. */
  readonly token: number;
  /** The lowest live token of those of its locks that others may hold, too; 0 where there is none. */
  readonly floor: number;
  readonly gone: boolean;
}

/** A reply as it was made, or what its request asked for. */
export type CachedReply = Reply | CachedAcquire;

export function isReply(cached: CachedReply): cached is Reply {
  return 'type' in cached;
}

/** Text, at most. */
const BYTES_PER_UNIT = 2;
const ERROR_BYTES = 96;
/** The acquire, and its lock with two lists, which live on when it is gone. */
const ACQUIRE_BYTES = 384;
/** An object and a stat with its numbers. */
const STAT_BYTES = 320;
const HOLDER_BYTES = 192;
/** A session of a deadlock, beside its text. */
const STEP_BYTES = 160;
const SMALL_BYTES = 64;
/** A number in an array. */
const RESULT_BYTES = 8;

/** Of one that has done all its operations. */
export function transactionCost(operations: number): number {
  return SMALL_BYTES + operations * RESULT_BYTES;
}

export function answerCost(answer: CachedReply): number {
  if (!isReply(answer)) return ACQUIRE_BYTES + answer.lock.name.length * BYTES_PER_UNIT;
  switch (answer.type) {
    case 'error':
      return ERROR_BYTES + answer.message.length * BYTES_PER_UNIT;
    case 'created':
      return STAT_BYTES + answer.path.length * BYTES_PER_UNIT;
    case 'changed':
      return STAT_BYTES;
    case 'transaction':
      return transactionCost(answer.results.length);
    case 'transactionFailed':
      return ERROR_BYTES + answer.message.length * BYTES_PER_UNIT;
    case 'lockHeld':
      return HOLDER_BYTES + answer.holder.label.length * BYTES_PER_UNIT;
    case 'deadlock':
      return answer.steps.reduce((sum, { label, holds, waitsFor }) => {
        return sum + STEP_BYTES + (label.length + holds.length + waitsFor.length) * BYTES_PER_UNIT;
      }, SMALL_BYTES);
    case 'done':
    case 'acquire':
    case 'cancelled':
    case 'attached':
    case 'revoked':
      return SMALL_BYTES;
  }
}
