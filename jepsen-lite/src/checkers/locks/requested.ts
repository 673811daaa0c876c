/** What an event of a history asks of its lock: a mutex, where it does not say otherwise. */

import { MUTEX, type LockRequest } from '@holdfast/protocol';
import type { Requester } from '../../models/holders.ts';

interface Asking {
  readonly asked?: LockRequest;
}

export function requested<E>(event: E, { asked }: Asking): Requester & { readonly event: E } {
  return { request: asked ?? MUTEX, event };
}
