/** Text as bytes, in UTF-8: exact both ways for well-formed text, and refused otherwise. Short ASCII, most of all there is, takes a short way. */

import { MalformedError } from './malformed-error.ts';

/** UTF-8 takes at most so many bytes for one UTF-16 unit. */
export const MAX_UTF8_BYTES_PER_UNIT = 3;
const MAX_SHORT_BYTES = 24;

const encoder = new TextEncoder();
// U+FEFF is a character like any other, and malformed UTF-8 is refused: no replacement that another decoder might make otherwise.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Writes at `at`, where there must be room for MAX_UTF8_BYTES_PER_UNIT a unit; returns where it ends. Half a surrogate pair becomes U+FFFD. */
export function writeText(text: string, into: Uint8Array, at: number): number {
  let end = at;
  if (text.length <= MAX_SHORT_BYTES) {
    for (let position = 0; position < text.length; position += 1) {
      const unit = text.charCodeAt(position);
      if (unit >= 0x80) return at + encoder.encodeInto(text, into.subarray(at)).written;
      into[end] = unit;
      end += 1;
    }
    return end;
  }
  return at + encoder.encodeInto(text, into.subarray(at)).written;
}

/** @throws MalformedError when the bytes are not well-formed UTF-8 */
export function readText(bytes: Uint8Array, start: number, end: number): string {
  const short = shortAscii(bytes, start, end);
  if (short !== undefined) return short;
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw new MalformedError('a text is not well-formed UTF-8');
  }
}

/** A decoder call costs more than such strings do. Undefined for all others. */
function shortAscii(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (end - start > MAX_SHORT_BYTES) return undefined;
  let text = '';
  let position = start;
  // Four at a time: every intermediate text is a copy of what came before.
  for (; position + 4 <= end; position += 4) {
    const first = bytes[position] ?? 0x80;
    const second = bytes[position + 1] ?? 0x80;
    const third = bytes[position + 2] ?? 0x80;
    const fourth = bytes[position + 3] ?? 0x80;
    if ((first | second | third | fourth) >= 0x80) return undefined;
    text += String.fromCharCode(first, second, third, fourth);
  }
  for (; position < end; position += 1) {
    const byte = bytes[position];
    if (byte === undefined || byte >= 0x80) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}
