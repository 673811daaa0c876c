import type { ServerId } from '../types.ts';

/** A leadership transfer under way (transfer.ts). */
export interface Transfer {
  readonly target: ServerId;
  /** Everyone who asked for it. */
  readonly tickets: number[];
  elapsedMs: number;
  /** Everything is durable at the target, and it was asked to stand. */
  timeoutNowSent: boolean;
  /** Proposals that wait for the end, in order. */
  held: Uint8Array[];
  heldBytes: number;
  /** One did not fit; none behind it is held either. */
  full: boolean;
}
