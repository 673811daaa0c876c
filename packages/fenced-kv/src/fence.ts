/**
 * The fence rule, pure. A bucket remembers the highest token that it has seen. A write with that token or a higher one passes
 * and installs it; a lower one comes from a holder that has been superseded, and is refused. It leaves to the store that
 * the decision and what follows from it are one atomic, durable step.
 */

import type { Refusal, TokenPolicy } from './refusal.ts';

export interface Fence {
  /** 0 while no token was installed. */
  readonly highest: number;
  readonly tokens: TokenPolicy;
}

export const NEW_FENCE: Fence = { highest: 0, tokens: 'required' };

export type Verdict =
  /** `highest` is the bucket's highest token from now on. */
  { readonly pass: true; readonly highest: number } | { readonly pass: false; readonly refusal: Refusal };

export function judgeWrite(bucket: string, fence: Fence, token: number | undefined): Verdict {
  if (token === undefined) {
    return fence.tokens === 'optional'
      ? { pass: true, highest: fence.highest }
      : { pass: false, refusal: { code: 'TOKEN_REQUIRED', bucket } };
  }
  return judgeInstall(fence, token);
}

export function judgeInstall(fence: Fence, token: number): Verdict {
  return token >= fence.highest
    ? { pass: true, highest: token }
    : { pass: false, refusal: { code: 'STALE_TOKEN', presented: token, highest: fence.highest } };
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
