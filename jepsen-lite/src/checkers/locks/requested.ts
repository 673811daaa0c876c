/** What an event of a history asks of its lock: histories tell of mutexes only, and this is where they will tell of other kinds. */

import { MUTEX } from '@holdfast/protocol';
import type { Requester } from '../../models/holders.ts';

export function requested<E>(event: E): Requester & { readonly event: E } {
  return { request: MUTEX, event };
}
