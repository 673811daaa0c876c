/** What applying one entry reports to the servers. Each server sends on what concerns the sessions attached to it. */

import type { DeadlockStep, EndReason, LossReason, ReleaseRequest, Reply } from '@holdfast/protocol';

export type RefusalCode = 'OUT_OF_ORDER' | 'SESSION_MOVED' | 'SESSION_EXPIRED' | 'OVERLOADED';

/** In the order of one entry's outputs: what happened (sessionCreated, lost, granted), the answer that may show it, sessionEnded. */
export type Output =
  /** The answer to a request, fresh or from the reply cache. */
  | {
      readonly type: 'reply';
      readonly session: number;
      readonly generation: number;
      readonly number: number;
      readonly reply: Reply;
    }
  /**
   * A request that was refused without effect and without using up its number. `lastApplied`: the session's, 0 if it is gone.
   * OUT_OF_ORDER: numbers were skipped, go on at `lastApplied + 1`; or, when `number` is not above `lastApplied`, a stale copy of a
   * request whose answer was acknowledged, to which there is nothing to say. SESSION_MOVED: it came through an earlier attachment, or
   * through a server at which the session is not attached.
   * SESSION_EXPIRED: there is no such session. OVERLOADED: too many answers wait to be acknowledged, or the session is ending.
   */
  | {
      readonly type: 'refused';
      /** Through which it came: no other server's client asked. */
      readonly server: number;
      readonly session: number;
      readonly generation: number;
      readonly number: number;
      readonly code: RefusalCode;
      readonly lastApplied: number;
    }
  /** The outcome of an attach that came through `server`, under its `correlation` number; `reply` is `attached` or an error. */
  | { readonly type: 'attached'; readonly server: number; readonly correlation: number; readonly reply: Reply }
  /** A wait became a hold by an entry other than its own acquire. */
  | {
      readonly type: 'granted';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly token: number;
      /** The lowest token that is live on those of its locks that others may hold, too; absent where it holds each alone. */
      readonly floor?: number;
    }
  /** Of those who hold that lock together the first has left: no hold of it has a token below `floor` any more. */
  | { readonly type: 'floorRaised'; readonly lock: string; readonly floor: number }
  /** Somebody waits for that lock: one who is the first to, or behind some who were granted it just now. Those who hold it may want to know. */
  | { readonly type: 'contended'; readonly lock: string }
  /** A hold was lost that had asked for it: nobody is granted that lock until the leader, `delayMs` from now, ends the delay of that index. */
  | { readonly type: 'lockDelayed'; readonly lock: string; readonly index: number; readonly delayMs: number }
  /** That delay is over, by the leader or by an operator. */
  | { readonly type: 'lockDelayEnded'; readonly lock: string; readonly index: number }
  /** A hold or wait of a living session is gone, not by its own release or cancel. `deadlock`: which a wait was ended to break. */
  | {
      readonly type: 'lost';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly reason: LossReason;
      readonly deadlock?: readonly DeadlockStep[];
    }
  /** Somebody has asked a session to release one of its holds. */
  | {
      readonly type: 'releaseRequested';
      readonly session: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly request: ReleaseRequest;
    }
  /** An entry of the leader that ends the time of such a request was applied, with effect or without. */
  | { readonly type: 'releaseEnforced'; readonly request: number }
  /** So many waits were ended to break deadlocks. `gaveUp`: there may be others, which it would have taken too much to find. */
  | { readonly type: 'deadlocksSought'; readonly ended: number; readonly gaveUp: boolean }
  /** A session began (attach created it). */
  | { readonly type: 'sessionCreated'; readonly session: number; readonly timeoutMs: number }
  /** The leader's expiry had no effect: the session was attached again since it was decided, and lives on. */
  | { readonly type: 'sessionSurvived'; readonly session: number }
  /** A session is over for good, and nodes of it are left: the leader removes them, and sessionEnded follows. */
  | { readonly type: 'sessionEnding'; readonly session: number }
  /** An entry that removes more of what such a session had was applied, with effect or without: the next can be proposed. */
  | { readonly type: 'endContinued'; readonly session: number }
  /** An entry that removes unused containers and nodes with a time to live was applied: so many of those that it named were there and unused. */
  | { readonly type: 'unusedRemoved'; readonly nodes: number }
  /** A session is over, with everything that it had. 'closed': by itself; 'revoked': by an operator; 'expired': by the leader. */
  | { readonly type: 'sessionEnded'; readonly session: number; readonly reason: EndReason };
