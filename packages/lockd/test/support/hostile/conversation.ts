/** What a hostile program says on one connection, and what the protocol promises for it. */

import type { ErrorCode } from '@holdfast/protocol';

/** How it must end. */
export type Ending =
  /** The server says goodbye with that code, and closes. */
  | { readonly type: 'goodbye'; readonly code: ErrorCode }
  /** The server closes; what it says of the reason, if anything. `frames`: that come before. @default 0 */
  | { readonly type: 'closed'; readonly reason?: string; readonly frames?: number }
  /** Nothing that was said is a reason to close: the server still answers. */
  | { readonly type: 'open' };

/** A frame to send, or what to wait for before the next one. */
export type Step = Uint8Array | 'until attached';

export interface Conversation {
  readonly kind: string;
  readonly steps: readonly Step[];
  /** Messages in the frames; a frame that is none counts as one. */
  readonly messages: number;
  readonly ending: Ending;
}
