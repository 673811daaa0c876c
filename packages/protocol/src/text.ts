/** Text as bytes, in UTF-8: exact both ways for well-formed text, and refused otherwise. Short ASCII, most of all there is, takes a short way. */

import { MalformedError } from './malformed-error.ts';

/** UTF-8 takes at most so many bytes for one UTF-16 unit. */
export const MAX_UTF8_BYTES_PER_UNIT = 3;
const MAX_SHORT_BYTES = 64;

const encoder = new TextEncoder();
// Needs no Buffer, which would cost as much as a decoder's call; and what it makes is one piece, unlike a text put together.
const { latin1Slice } = Buffer.prototype as unknown as {
  readonly latin1Slice: (this: Uint8Array, start: number, end: number) => string;
};
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
  if (isShortAscii(bytes, start, end)) return latin1Slice.call(bytes, start, end);
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw new MalformedError('a text is not well-formed UTF-8');
  }
}

/** Of others a decoder knows sooner whether they are. */
function isShortAscii(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > MAX_SHORT_BYTES) return false;
  let all = 0;
  for (let position = start; position < end; position += 1) all |= bytes[position] ?? 0x80;
  return all < 0x80;
}
