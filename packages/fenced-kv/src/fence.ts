/**
 * The fence rule, pure. A bucket remembers the highest token that it has seen. A write with that token or a higher one passes
 * and installs it; a lower one comes from a holder that has been superseded, and is refused; so is one that lies further above
 * than any ensemble gets, since it would fence everybody off for good. It leaves to the store that the decision and what follows
 * from it are one atomic, durable step.
 */

import { MAX_TOKEN_JUMP } from './limits.ts';
import type { Refusal, TokenPolicy } from './refusal.ts';

export interface Fence {
  /** 0 while no token was installed. */
  readonly highest: number;
  readonly tokens: TokenPolicy;
}

export const NEW_FENCE: Fence = { highest: 0, tokens: 'required' };

export interface FenceRules {
  /** Takes tokens any distance above the highest. @default false */
  readonly allowTokenJumps?: boolean;
}

export type Verdict =
  /** `highest` is the bucket's highest token from now on. */
  { readonly pass: true; readonly highest: number } | { readonly pass: false; readonly refusal: Refusal };

export function judgeWrite(bucket: string, fence: Fence, token: number | undefined, rules: FenceRules = {}): Verdict {
  if (token === undefined) {
    return fence.tokens === 'optional'
      ? { pass: true, highest: fence.highest }
      : { pass: false, refusal: { code: 'TOKEN_REQUIRED', bucket } };
  }
  return judgeInstall(fence, token, rules);
}

export function judgeInstall(fence: Fence, token: number, rules: FenceRules = {}): Verdict {
  const { highest } = fence;
  if (token < highest) return { pass: false, refusal: { code: 'STALE_TOKEN', presented: token, highest } };
  // What the first token of a bucket is to be compared with, nobody knows.
  if (highest > 0 && token - highest > MAX_TOKEN_JUMP && rules.allowTokenJumps !== true) {
    return { pass: false, refusal: { code: 'TOKEN_JUMP_REFUSED', presented: token, highest, limit: MAX_TOKEN_JUMP } };
  }
  return { pass: true, highest: token };
}

/**
 * A read never installs: it is served without a token, and with one only when that is the installed one. A higher token that
 * is not installed would let its holder compute on a state that an older holder is still about to change.
 */
export function judgeRead(fence: Fence, token: number | undefined): Verdict {
  if (token === undefined || token === fence.highest) return { pass: true, highest: fence.highest };
  const code = token < fence.highest ? 'STALE_TOKEN' : 'TOKEN_NOT_INSTALLED';
  return { pass: false, refusal: { code, presented: token, highest: fence.highest } };
}
