/** Text as the state machine needs it: by code units and UTF-8 sizes, never by the machine's locale. */

/** Bytes of well-formed text in UTF-8; half a surrogate pair counts as the replacement character that it becomes. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let position = 0; position < text.length; position += 1) {
    const unit = text.charCodeAt(position);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
    } else if (isPair(text, position)) {
      bytes += 2;
      position += 1;
    } else {
      bytes += 2;
    }
  }
  return bytes;
}

function isPair(text: string, position: number): boolean {
  return (text.charCodeAt(position) & 0xfc00) === 0xd800 && (text.charCodeAt(position + 1) & 0xfc00) === 0xdc00;
}

/**
 * The same text in memory of its own. A part of a text and one put together of others keep those alive, in V8: what is cached for
 * long must not.
 */
export function flat(text: string): string {
  const codes = Array.from({ length: text.length }, (_, position) => text.charCodeAt(position));
  return String.fromCharCode(...codes);
}

/** At most so many units, the last of them "…" when some are missing. Not within a surrogate pair: half of one is no text. */
export function clipped(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 2);
  return `${text.slice(0, maxLength - ((last & 0xfc00) === 0xd800 ? 2 : 1))}…`;
}

/** By UTF-16 code units: the same everywhere. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
