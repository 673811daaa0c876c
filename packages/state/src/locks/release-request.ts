/** That somebody who holds a lock was asked to release it, as it is kept with the queue node of the hold. */

import {
  MalformedError,
  MAX_LABEL_LENGTH,
  MAX_RELEASE_WITHIN_MS,
  pack,
  unpackTuple,
  type ReleaseRequest,
} from '@holdfast/protocol';

export function packReleaseRequest({ index, askedAt, withinMs, revokes, by }: ReleaseRequest): Uint8Array {
  return pack([index, askedAt, withinMs, revokes, by]);
}

/** Undefined for what is none. */
export function readReleaseRequest(bytes: Uint8Array): ReleaseRequest | undefined {
  try {
    const reader = unpackTuple(bytes, 'a request to release a hold');
    const request = {
      index: reader.integer('index'),
      askedAt: reader.integer('askedAt'),
      withinMs: reader.integer('withinMs'),
      revokes: reader.boolean('revokes'),
      by: reader.string('by', MAX_LABEL_LENGTH),
    };
    return reader.remaining === 0 && request.withinMs <= MAX_RELEASE_WITHIN_MS ? request : undefined;
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
