/** What happened in one round of a situation, as its director and its holders recorded it. */

import type { Outcome } from '../adapters/resource.ts';
import type { HolderName, Route } from '../holders/holder.ts';

/**
 * Why a write was made: by the holder of the newest token, which must be taken; with a token that a newer holder has outdated, which
 * must not; at the same moment as the newer holder's first write; before the newer holder came to the resource, which may be taken;
 * or without a token that means anything.
 */
export type Purpose = 'newest' | 'stale' | 'racing' | 'before-contact' | 'unfenced';

export interface WriteEvent {
  readonly type: 'write';
  readonly who: HolderName;
  readonly purpose: Purpose;
  /** A text, or undefined for none, in a write that is `unfenced`. */
  readonly token: number | string | undefined;
  readonly value: string;
  readonly route: Route;
  readonly calledAt: number;
  /** It cannot have reached the resource before; later than `calledAt` where it was held back. */
  readonly reachedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}

export interface InstallEvent {
  readonly type: 'install';
  readonly who: HolderName;
  readonly token: number;
  readonly calledAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}

export interface ReadEvent {
  readonly type: 'read';
  readonly who: HolderName;
  readonly calledAt: number;
  readonly endedAt: number;
  /** Undefined where the read failed. */
  readonly value: string | null | undefined;
  readonly outcome: Outcome;
}

export type RoundEvent =
  | WriteEvent
  | InstallEvent
  | ReadEvent
  | { readonly type: 'granted'; readonly who: HolderName; readonly token: number; readonly endedAt: number }
  | { readonly type: 'released' | 'stopped' | 'woken'; readonly who: HolderName; readonly endedAt: number }
  | { readonly type: 'held-back' | 'let-through'; readonly who: HolderName; readonly endedAt: number };
