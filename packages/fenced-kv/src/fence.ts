/**
 * The fence rule, pure. A bucket remembers the highest floor that it was told. A holder tells the floor of its lock with its token:
 * the lowest token under which that is held. For who holds it alone the floor is the token itself. A write whose token is not below
 * the bucket's floor passes, and raises it to its own; a lower one comes from a holder that has been superseded, and is refused; so
 * is a floor that lies further above than any ensemble gets, since it would fence everybody off for good. It leaves to the store that
 * the decision and what follows from it are one atomic, durable step.
 *
 *     a semaphore of two: holders 41 and 57, both tell 41       bucket: 41, both write
 *     41 is lost, 60 is granted: 57 and 60 tell 57              bucket: 57, a late write of 41 is refused
 */

import { MAX_TOKEN_JUMP } from './limits.ts';
import type { Refusal, TokenPolicy } from './refusal.ts';

export interface Fence {
  /** The highest floor: no lower token passes. 0 while none was installed. */
  readonly highest: number;
  readonly tokens: TokenPolicy;
}

/** What a holder says of its lock. */
export interface Claim {
  readonly token: number;
  /** The lowest token under which the lock is held, at most `token`; 0 where nobody has told it. */
  readonly floor: number;
}

export const NEW_FENCE: Fence = { highest: 0, tokens: 'required' };

export interface FenceRules {
  /** Takes tokens any distance above the highest. @default false */
  readonly allowTokenJumps?: boolean;
}

export type Verdict =
  /** `highest` is the bucket's highest floor from now on. */
  { readonly pass: true; readonly highest: number } | { readonly pass: false; readonly refusal: Refusal };

export function judgeWrite(bucket: string, fence: Fence, claim: Claim | undefined, rules: FenceRules = {}): Verdict {
  if (claim === undefined) {
    return fence.tokens === 'optional'
      ? { pass: true, highest: fence.highest }
      : { pass: false, refusal: { code: 'TOKEN_REQUIRED', bucket } };
  }
  return judgeInstall(fence, claim, rules);
}

export function judgeInstall(fence: Fence, { token, floor }: Claim, rules: FenceRules = {}): Verdict {
  const { highest } = fence;
  if (token < highest) return { pass: false, refusal: { code: 'STALE_TOKEN', presented: token, highest } };
  // What the first floor of a bucket is to be compared with, nobody knows.
  if (highest > 0 && floor - highest > MAX_TOKEN_JUMP && rules.allowTokenJumps !== true) {
    return { pass: false, refusal: { code: 'TOKEN_JUMP_REFUSED', presented: floor, highest, limit: MAX_TOKEN_JUMP } };
  }
  return { pass: true, highest: Math.max(highest, floor) };
}

/**
 * A read never installs: it is served without a token, and with one only when that is not stale and its floor is installed. A higher
 * floor that is not installed would let its holder compute on a state that an older holder is still about to change.
 */
export function judgeRead(fence: Fence, claim: Claim | undefined): Verdict {
  const { highest } = fence;
  if (claim === undefined) return { pass: true, highest };
  const { token, floor } = claim;
  const stale = token < highest;
  if (stale) return { pass: false, refusal: { code: 'STALE_TOKEN', presented: token, highest } };
  if (floor > highest) return { pass: false, refusal: { code: 'TOKEN_NOT_INSTALLED', presented: floor, highest } };
  return { pass: true, highest };
}
