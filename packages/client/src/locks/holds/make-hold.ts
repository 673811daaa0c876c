/** Which handle a grant becomes. A new kind of lock is a line here, if its holds can do more than others. */

import { HeldLock, type Granted, type HoldKeeper } from '../held-lock.ts';
import { PermitsHold } from './permits-hold.ts';
import { ReadWriteHold } from './read-write-hold.ts';
import { ReentrantHold } from './reentrant-hold.ts';

/** `known`: a handle of the same hold, which only a lock that may be entered again has. */
export function makeHold(granted: Granted, keeper: HoldKeeper, known: HeldLock | undefined): HeldLock {
  const { request } = granted;
  switch (request.type) {
    case 'mutex':
      return new HeldLock(granted, keeper);
    case 'readWrite':
      return new ReadWriteHold(granted, keeper, request.mode);
    case 'semaphore':
      return new PermitsHold(granted, keeper, request);
    case 'reentrant':
      return new ReentrantHold(granted, keeper, known);
  }
}
