/** The printed form of tokens. */

import { TOKEN_TEXT_DIGITS } from '@holdfast/protocol';

/**
 * Zero-padded, so that texts sort as the tokens do.
 *
 * @example
 * tokenText(57); // '0000000000000057'
 */
export function tokenText(token: number): string {
  return String(token).padStart(TOKEN_TEXT_DIGITS, '0');
}
