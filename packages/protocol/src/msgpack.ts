/**
 * The part of msgpack that Holdfast reads: integers, floats, booleans, nil, strings, byte strings and arrays. Decoded here and
 * not by a library, because the bytes of a command are decoded by every server, years later perhaps, and must mean the same on
 * each. msgpackr, which writes them, reads far more than msgpack (records, references, sets, regular expressions, errors); it
 * drops a leading U+FEFF or keeps it, and replaces malformed UTF-8 in one way or another, depending on whether its native add-on
 * is there; how deep it reads depends on the stack that is left; and it formats what it has read when bytes follow.
 *
 * {@link skipValue} checks structure and allocates nothing; the other functions trust what it has accepted.
 */

/** Deeper than any message; the same everywhere, unlike the stack. */
const MAX_DEPTH = 16;

/** Why the bytes are refused; callers make a MalformedError of it that names the field. */
export class NotMsgpackError extends Error {}

/** Where the value at `position` ends. @throws NotMsgpackError for all but one whole value of the types above. */
export function skipValue(view: DataView, position: number, depth = 0): number {
  const token = byteAt(view, position);
  if (token < 0x80 || token >= 0xe0) return position + 1;
  if (token >= 0xa0 && token < 0xc0) return endOf(view, position + 1, token - 0xa0);
  switch (token) {
    case 0xc0:
    case 0xc2:
    case 0xc3:
      return position + 1;
    case 0xcc:
    case 0xd0:
      return endOf(view, position + 1, 1);
    case 0xcd:
    case 0xd1:
      return endOf(view, position + 1, 2);
    case 0xca:
    case 0xce:
    case 0xd2:
      return endOf(view, position + 1, 4);
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return endOf(view, position + 1, 8);
    case 0xc4:
    case 0xd9:
      return endOf(view, position + 2, lengthAt(view, position + 1, 1));
    case 0xc5:
    case 0xda:
      return endOf(view, position + 3, lengthAt(view, position + 1, 2));
    case 0xc6:
    case 0xdb:
      return endOf(view, position + 5, lengthAt(view, position + 1, 4));
    default:
      return skipArray(view, position, token, depth);
  }
}

function skipArray(view: DataView, position: number, token: number, depth: number): number {
  const count = arrayCountAt(view, position);
  if (count === undefined)
    throw new NotMsgpackError(`has the type 0x${token.toString(16)}, which Holdfast does not use`);
  if (depth === MAX_DEPTH) throw new NotMsgpackError(`is nested deeper than ${MAX_DEPTH}`);
  let next = arrayStart(token, position);
  for (let element = 0; element < count; element += 1) next = skipValue(view, next, depth + 1);
  return next;
}

/** Undefined when the value is not an array. */
export function arrayCountAt(view: DataView, position: number): number | undefined {
  const token = byteAt(view, position);
  if (token >= 0x90 && token < 0xa0) return token - 0x90;
  if (token === 0xdc) return lengthAt(view, position + 1, 2);
  if (token === 0xdd) return lengthAt(view, position + 1, 4);
  return undefined;
}

/** Where the elements of the array at `position` begin. */
export function arrayStart(token: number, position: number): number {
  return position + (token === 0xdc ? 3 : token === 0xdd ? 5 : 1);
}

/** Undefined when the value is not a number; integers beyond 2^53 come out rounded, and no safe integer then. */
export function numberAt(view: DataView, position: number): number | undefined {
  const token = view.getUint8(position);
  if (token < 0x80) return token;
  if (token >= 0xe0) return token - 0x1_00;
  const body = position + 1;
  switch (token) {
    case 0xca:
      return view.getFloat32(body);
    case 0xcb:
      return view.getFloat64(body);
    case 0xcc:
      return view.getUint8(body);
    case 0xcd:
      return view.getUint16(body);
    case 0xce:
      return view.getUint32(body);
    case 0xcf:
      return view.getUint32(body) * 0x1_0000_0000 + view.getUint32(body + 4);
    case 0xd0:
      return view.getInt8(body);
    case 0xd1:
      return view.getInt16(body);
    case 0xd2:
      return view.getInt32(body);
    case 0xd3:
      return view.getInt32(body) * 0x1_0000_0000 + view.getUint32(body + 4);
    default:
      return undefined;
  }
}

/** Undefined when the value is not a boolean. */
export function booleanAt(view: DataView, position: number): boolean | undefined {
  const token = view.getUint8(position);
  return token === 0xc3 ? true : token === 0xc2 ? false : undefined;
}

/** Where the UTF-8 of the string at `position` begins; undefined when the value is not a string. */
export function stringStart(view: DataView, position: number): number | undefined {
  const token = view.getUint8(position);
  if (token >= 0xa0 && token < 0xc0) return position + 1;
  if (token === 0xd9) return position + 2;
  if (token === 0xda) return position + 3;
  return token === 0xdb ? position + 5 : undefined;
}

/** Where the bytes of the byte string at `position` begin; undefined when the value is not one. */
export function bytesStart(view: DataView, position: number): number | undefined {
  const token = view.getUint8(position);
  if (token === 0xc4) return position + 2;
  if (token === 0xc5) return position + 3;
  return token === 0xc6 ? position + 5 : undefined;
}

function byteAt(view: DataView, position: number): number {
  if (position >= view.byteLength) throw new NotMsgpackError('ends too early');
  return view.getUint8(position);
}

function lengthAt(view: DataView, position: number, size: 1 | 2 | 4): number {
  if (position + size > view.byteLength) throw new NotMsgpackError('ends too early');
  return size === 1 ? view.getUint8(position) : size === 2 ? view.getUint16(position) : view.getUint32(position);
}

function endOf(view: DataView, start: number, length: number): number {
  if (start + length > view.byteLength) throw new NotMsgpackError('ends too early');
  return start + length;
}
