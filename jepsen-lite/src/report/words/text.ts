/** Names and values as a reader may see them: nothing in a history may look like markup, hide, or turn the line around. */

import { MAX_TEXT } from '../limits.ts';

/** What has no shape of its own, or changes the order of what stands beside it. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u00a0\u202f]/gu;

const CONTROL_PICTURES = 0x2400;
const DELETE = 0x7f;

/** Control characters by their pictures, other invisible ones by their numbers; long texts cut. */
export function visible(text: string, max = MAX_TEXT): string {
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return cut.replaceAll(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
    if (code === DELETE) return '\u2421';
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** A value of the history, in quotes. */
export function quoted(value: string | null): string {
  return value === null ? 'nothing' : `“${visible(value)}”`;
}

/** Names as people count: c2 before c10. The same in every language. */
export function byName(left: string, right: string): number {
  const [ofLeft, ofRight] = [left, right].map((name) => name.match(/\d+|\D+/g) ?? []);
  for (const [place, one] of (ofLeft ?? []).entries()) {
    const other = ofRight?.[place];
    if (other === undefined) return 1;
    if (one === other) continue;
    const difference = Number(one) - Number(other);
    if (!Number.isNaN(difference) && difference !== 0) return difference;
    return one < other ? -1 : 1;
  }
  return (ofLeft?.length ?? 0) - (ofRight?.length ?? 0);
}
