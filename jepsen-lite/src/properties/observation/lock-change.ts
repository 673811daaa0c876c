import type { LockRequest } from '@holdfast/protocol';

/** What became of one wait or hold, or of all of a session. */
export type LockChange =
  | { readonly type: 'removed'; readonly session: number; readonly lock: string; readonly acquireIndex: number }
  /** With every wait and hold that the session had. */
  | { readonly type: 'ended'; readonly session: number }
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
