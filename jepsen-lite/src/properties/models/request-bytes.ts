/**
 * What is kept of acquires with their queue nodes, that holds are to be released included, and of delays with the containers of locks: counted
 * among the data of the tree.
 */

import { pack, type AcquireOptions, type QueueEntry } from '@holdfast/protocol';

import { leads } from '../observation/acquires.ts';

type Kept = Pick<QueueEntry, 'acquireIndex' | 'parameters' | 'lockDelayMs' | 'abortInDeadlock' | 'releaseRequest'> & {
  readonly lock: string;
};

/** As of every extra of a node. */
const HEAD_BYTES = 4;

/** A head, three numbers, and milliseconds. */
const DELAY_BYTES = HEAD_BYTES + 3 * 8 + 4;

export function delayBytes(delays: number): number {
  return delays * DELAY_BYTES;
}

/** What options of an acquire take, without the head; none take nothing. */
export function optionsLength({ lockDelayMs = 0, abortInDeadlock = false }: Partial<AcquireOptions>): number {
  return lockDelayMs === 0 && !abortInDeadlock ? 0 : pack([lockDelayMs, abortInDeadlock]).length;
}

export function requestLength(request: QueueEntry['releaseRequest']): number {
  if (request === undefined) return 0;
  const { index, askedAt, withinMs, revokes, by } = request;
  return pack([index, askedAt, withinMs, revokes, by]).length;
}

export function requestBytes(acquires: readonly Kept[]): number {
  return kept(acquires).reduce((sum, bytes) => sum + bytes + HEAD_BYTES, 0);
}

export function requestHeadBytes(acquires: readonly Kept[]): number {
  return kept(acquires).length * HEAD_BYTES;
}

/** Bytes of each, one by one; a request without parameters takes nothing. */
function kept(acquires: readonly Kept[]): readonly number[] {
  const own = acquires.flatMap((acquire) => {
    const { parameters = [] } = acquire;
    return [parameters.length === 0 ? 0 : pack(parameters).length, optionsLength(acquire)];
  });
  // Of an acquire of several locks it is kept at the first.
  const requests = leads(acquires).map(({ releaseRequest }) => requestLength(releaseRequest));
  return [...own, ...requests].filter((bytes) => bytes > 0);
}
