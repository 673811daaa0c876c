/** What applying one entry tells the servers. Each server sends on what concerns the sessions attached to it. */

import type { LossReason, Reply } from '@holdfast/protocol';

export type Output =
  /** The answer to a request, fresh or from memory. */
  | {
      readonly type: 'reply';
      readonly session: number;
      readonly generation: number;
      readonly number: number;
      readonly reply: Reply;
    }
  /**
   * A request that was refused without effect and without using up its number. OUT_OF_ORDER: `lastApplied` tells where to go on.
   * SESSION_MOVED: it came through an earlier attachment. SESSION_EXPIRED: there is no such session.
   */
  | {
      readonly type: 'refused';
      readonly session: number;
      readonly generation: number;
      readonly number: number;
      readonly code: 'OUT_OF_ORDER' | 'SESSION_MOVED' | 'SESSION_EXPIRED';
      readonly lastApplied: number;
    }
  /** The outcome of an attach that `server` proposed under its `correlation` number; `reply` is `attached` or an error. */
  | { readonly type: 'attached'; readonly server: number; readonly correlation: number; readonly reply: Reply }
  /** A wait became a hold by an entry other than its own acquire. */
  | {
      readonly type: 'granted';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly token: number;
    }
  /** A hold or wait of a living session is gone, not by its own release or cancel. */
  | {
      readonly type: 'lost';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly reason: LossReason;
    }
  /** A session began (attach created it). */
  | { readonly type: 'sessionCreated'; readonly session: number; readonly timeoutMs: number }
  /** A session is over, with everything that it had. 'closed': by itself; 'revoked': by an operator; 'expired': by the leader. */
  | { readonly type: 'sessionEnded'; readonly session: number; readonly reason: LossReason };
