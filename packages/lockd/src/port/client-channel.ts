/** The way from the session port back to one client of a front: what the client is to hear, as its front's protocol says it. */

import type { ErrorCode, ServerMessage } from '@holdfast/protocol';

/**
 * What clients are sent of their sessions, requests, reads, locks and watches. Events of an index come before the reply that shows its state, and
 * the end of a session last.
 */
export type SessionOutput = Extract<
  ServerMessage,
  {
    type:
      | 'attached'
      | 'reply'
      | 'answer'
      | 'renewed'
      | 'granted'
      | 'lost'
      | 'floor'
      | 'contended'
      | 'ended'
      | 'resend'
      | 'watching'
      | 'unwatched'
      | 'watch-refused'
      | 'events'
      | 'missed'
      | 'release-requested';
  }
>;

export interface ClientChannel {
  readonly remoteAddress: string;
  /** False once nothing more comes or goes. */
  readonly open: boolean;
  /** Bytes that it was sent and has not read. */
  readonly unreadBytes: number;
  /** It has so much to read that answers should wait. */
  readonly isBehind: boolean;
  /** Its client understands `floor` and `contended`. */
  readonly hearsOfHolds: boolean;
  /** Leaves at the end of the turn, in order; on a closed channel it does nothing. */
  send(output: SessionOutput): void;
  /** Says why, and closes; the port hears of that as of every end. */
  goodbye(code: ErrorCode, message: string): void;
}
