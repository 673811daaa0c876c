import type { LockRequest } from '@holdfast/protocol';

/** What became of one wait or hold, of all of a session, or of all who hold a lock. */
export type LockChange =
  | { readonly type: 'removed'; readonly session: number; readonly lock: string; readonly acquireIndex: number }
  /** With every wait and hold that the session had. */
  | { readonly type: 'ended'; readonly session: number }
  /** An operator took a hold of the lock away: all who hold it have that token now. */
  | { readonly type: 'raised'; readonly lock: string; readonly token: number }
  /** It asks for something else now. */
  | { readonly type: 'converted'; readonly acquireIndex: number; readonly request: LockRequest }
  /** Its owner has entered once more, or left once. */
  | { readonly type: 'entered'; readonly acquireIndex: number; readonly times: 1 | -1 }
  | Placed;

/** `token` 0: it waits. */
export type Placed =
  | {
      readonly type: 'enqueued';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly token: number;
      readonly request: LockRequest;
    }
  | {
      readonly type: 'granted';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly token: number;
    };

export function isPlaced(change: LockChange): change is Placed {
  return change.type === 'enqueued' || change.type === 'granted';
}
