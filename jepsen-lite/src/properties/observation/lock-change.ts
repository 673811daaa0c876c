import type { LockRequest } from '@holdfast/protocol';

/** What became of one wait or hold at one lock, or of all of a session. One of several locks changes at each of them. */
export type LockChange =
  | { readonly type: 'removed'; readonly session: number; readonly lock: string; readonly acquireIndex: number }
  /** With every wait and hold that the session had. */
  | { readonly type: 'ended'; readonly session: number }
  /** A hold asks for less from now on. */
  | {
      readonly type: 'downgraded';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly request: LockRequest;
    }
  /** `token` 0: it waits. */
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
