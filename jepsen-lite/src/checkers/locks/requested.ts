/** What an event of a history asks of its lock: a mutex, where it does not say otherwise. */

import { MUTEX, type LockRequest } from '@holdfast/protocol';
import type { OkOf } from '../../history/calls.ts';
import type { Requester } from '../../models/holders.ts';

export function requested<E>(event: E, asked: LockRequest = MUTEX): Requester & { readonly event: E } {
  return { request: asked, event };
}

/** Whoever enters a lock holds a mutex. */
export function askedBy(ok: OkOf<'acquire' | 'enter'>): LockRequest | undefined {
  return ok.f === 'acquire' ? ok.asked : undefined;
}
