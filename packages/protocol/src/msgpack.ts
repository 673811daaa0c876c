/**
 * The part of msgpack that Holdfast reads: integers, floats, booleans, nil, strings, byte strings and arrays. Decoded here and
 * not by a library, because the bytes of a command are decoded by every server, years later perhaps, and must mean the same on
 * each. msgpackr, for example, reads far more than msgpack (records, references, sets, regular expressions, errors); it
 * drops a leading U+FEFF or keeps it, and replaces malformed UTF-8 in one way or another, depending on whether its native add-on
 * is there; how deep it reads depends on the stack that is left; and it formats what it has read when bytes follow. No DataView: to
 * make one for each message costs more than to put its numbers together.
 *
 * {@link skipValue} checks structure and allocates nothing; the other functions trust what it has accepted.
 */

/** Deeper than any message; the same everywhere, unlike the stack. */
const MAX_DEPTH = 16;

const scratch = new Uint8Array(8);
const scratchView = new DataView(scratch.buffer);

/** Why the bytes are refused; callers make a MalformedError of it that names the field. */
export class NotMsgpackError extends Error {}

/** Where the value at `position` ends. @throws NotMsgpackError for all but one whole value of the types above. */
export function skipValue(bytes: Uint8Array, position: number, depth = 0): number {
  const token = byteAt(bytes, position);
  if (token < 0x80 || token >= 0xe0) return position + 1;
  if (token >= 0xa0 && token < 0xc0) return endOf(bytes, position + 1, token - 0xa0);
  switch (token) {
    case 0xc0:
    case 0xc2:
    case 0xc3:
      return position + 1;
    case 0xcc:
    case 0xd0:
      return endOf(bytes, position + 1, 1);
    case 0xcd:
    case 0xd1:
      return endOf(bytes, position + 1, 2);
    case 0xca:
    case 0xce:
    case 0xd2:
      return endOf(bytes, position + 1, 4);
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return endOf(bytes, position + 1, 8);
    case 0xc4:
    case 0xd9:
      return endOf(bytes, position + 2, lengthAt(bytes, position + 1, 1));
    case 0xc5:
    case 0xda:
      return endOf(bytes, position + 3, lengthAt(bytes, position + 1, 2));
    case 0xc6:
    case 0xdb:
      return endOf(bytes, position + 5, lengthAt(bytes, position + 1, 4));
    default:
      return skipArray(bytes, position, token, depth);
  }
}

function skipArray(bytes: Uint8Array, position: number, token: number, depth: number): number {
  const count = arrayCountAt(bytes, position);
  if (count === undefined)
    throw new NotMsgpackError(`has the type 0x${token.toString(16)}, which Holdfast does not use`);
  if (depth === MAX_DEPTH) throw new NotMsgpackError(`is nested deeper than ${MAX_DEPTH}`);
  let next = arrayStart(bytes, position);
  for (let element = 0; element < count; element += 1) next = skipValue(bytes, next, depth + 1);
  return next;
}

/** Undefined when the value is not an array. */
export function arrayCountAt(bytes: Uint8Array, position: number): number | undefined {
  const token = byteAt(bytes, position);
  if (token >= 0x90 && token < 0xa0) return token - 0x90;
  if (token === 0xdc) return lengthAt(bytes, position + 1, 2);
  if (token === 0xdd) return lengthAt(bytes, position + 1, 4);
  return undefined;
}

/** Where the elements of the array at `position` begin. */
export function arrayStart(bytes: Uint8Array, position: number): number {
  const token = at(bytes, position);
  return position + (token === 0xdc ? 3 : token === 0xdd ? 5 : 1);
}

/** Undefined when the value is not a number; integers beyond 2^53 come out rounded, and no safe integer then. */
export function numberAt(bytes: Uint8Array, position: number): number | undefined {
  const token = at(bytes, position);
  if (token < 0x80) return token;
  if (token >= 0xe0) return token - 0x1_00;
  const body = position + 1;
  switch (token) {
    case 0xca:
      return scratchOf(bytes, body, 4).getFloat32(0);
    case 0xcb:
      return scratchOf(bytes, body, 8).getFloat64(0);
    case 0xcc:
      return at(bytes, body);
    case 0xcd:
      return uint16(bytes, body);
    case 0xce:
      return uint32(bytes, body);
    case 0xcf:
      return uint32(bytes, body) * 0x1_0000_0000 + uint32(bytes, body + 4);
    case 0xd0:
      return (at(bytes, body) << 24) >> 24;
    case 0xd1:
      return (uint16(bytes, body) << 16) >> 16;
    case 0xd2:
      return uint32(bytes, body) | 0;
    case 0xd3:
      return (uint32(bytes, body) | 0) * 0x1_0000_0000 + uint32(bytes, body + 4);
    default:
      return undefined;
  }
}

/** Undefined when the value is not a boolean. */
export function booleanAt(bytes: Uint8Array, position: number): boolean | undefined {
  const token = at(bytes, position);
  return token === 0xc3 ? true : token === 0xc2 ? false : undefined;
}

/** Where the UTF-8 of the string at `position` begins; undefined when the value is not a string. */
export function stringStart(bytes: Uint8Array, position: number): number | undefined {
  const token = at(bytes, position);
  if (token >= 0xa0 && token < 0xc0) return position + 1;
  if (token === 0xd9) return position + 2;
  if (token === 0xda) return position + 3;
  return token === 0xdb ? position + 5 : undefined;
}

/** Where the bytes of the byte string at `position` begin; undefined when the value is not one. */
export function bytesStart(bytes: Uint8Array, position: number): number | undefined {
  const token = at(bytes, position);
  if (token === 0xc4) return position + 2;
  if (token === 0xc5) return position + 3;
  return token === 0xc6 ? position + 5 : undefined;
}

/** Of a value that {@link skipValue} has accepted: every byte is there. */
function at(bytes: Uint8Array, position: number): number {
  return bytes[position] ?? 0;
}

function uint16(bytes: Uint8Array, position: number): number {
  return (at(bytes, position) << 8) | at(bytes, position + 1);
}

function uint32(bytes: Uint8Array, position: number): number {
  return ((uint16(bytes, position) << 16) | uint16(bytes, position + 2)) >>> 0;
}

/** Floats are rare: they are copied to where there is a view. */
function scratchOf(bytes: Uint8Array, position: number, length: 4 | 8): DataView {
  for (let offset = 0; offset < length; offset += 1) scratch[offset] = at(bytes, position + offset);
  return scratchView;
}

function byteAt(bytes: Uint8Array, position: number): number {
  const byte = bytes[position];
  if (byte === undefined) throw new NotMsgpackError('ends too early');
  return byte;
}

function lengthAt(bytes: Uint8Array, position: number, size: 1 | 2 | 4): number {
  if (position + size > bytes.length) throw new NotMsgpackError('ends too early');
  return size === 1 ? at(bytes, position) : size === 2 ? uint16(bytes, position) : uint32(bytes, position);
}

function endOf(bytes: Uint8Array, start: number, length: number): number {
  if (start + length > bytes.length) throw new NotMsgpackError('ends too early');
  return start + length;
}
