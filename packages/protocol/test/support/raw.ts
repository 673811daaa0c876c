/** msgpack by hand, to say what no encoder would. */

/** An array of values that are msgpack already. */
export function rawTuple(...fields: readonly Uint8Array[]): Uint8Array {
  if (fields.length > 15) throw new RangeError('a raw tuple has at most 15 fields');
  return joined(Uint8Array.of(0x90 + fields.length), ...fields);
}

/** A text of up to 65,535 bytes, UTF-8 or not. */
export function rawString(...bytes: readonly number[]): Uint8Array {
  return Uint8Array.of(0xda, bytes.length >> 8, bytes.length & 0xff, ...bytes);
}

export function float64(value: number): Uint8Array {
  const bytes = new Uint8Array(9);
  bytes[0] = 0xcb;
  new DataView(bytes.buffer).setFloat64(1, value);
  return bytes;
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** The tuple with one more field at its end. Of short tuples only. */
export function withExtraField(tuple: Uint8Array, field: Uint8Array): Uint8Array {
  const [token, ...rest] = tuple;
  if (token === undefined || token < 0x90 || token >= 0x9f) throw new RangeError('not a short tuple');
  return joined(Uint8Array.of(token + 1, ...rest), field);
}

export const hostileValues: ReadonlyMap<string, Uint8Array> = new Map(
  Object.entries({
    'an empty map': [0x80],
    'a map with __proto__': [0x81, 0xa9, ...Buffer.from('__proto__'), 0x81, 0xa1, 0x78, 1],
    'a map of 2^32 − 1 entries': [0xdf, 0xff, 0xff, 0xff, 0xff],
    'a map of 65,535 entries': [0xde, 0xff, 0xff],
    'an array of 2^32 − 1 elements': [0xdd, 0xff, 0xff, 0xff, 0xff],
    'an array of 65,535 elements': [0xdc, 0xff, 0xff],
    'a byte string of 2^32 − 1 bytes': [0xc6, 0xff, 0xff, 0xff, 0xff],
    'a byte string of 65,535 bytes': [0xc5, 0xff, 0xff],
    'a text of 2^32 − 1 bytes': [0xdb, 0xff, 0xff, 0xff, 0xff],
    'a text of 255 bytes': [0xd9, 0xff],
    'an extension of 2^32 − 1 bytes': [0xc9, 0xff, 0xff, 0xff, 0xff, 0x01],
    'the token that is never used': [0xc1],
    'a timestamp of 4 bytes': [0xd6, 0xff, 0, 0, 0, 1],
    'a timestamp of 12 bytes': [0xc7, 12, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    'extension 0': [0xd4, 0, 0],
    "msgpackr's record definition": [0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 1],
    "msgpackr's record definition of two bytes": [0xd5, 0x72, 0x40, 0x00, 0x91, 0xa1, 0x61, 1],
    "msgpackr's bundled strings": [0xd6, 0x62, 0, 0, 0, 1, 0xc1, 0xa1, 0x61, 0xa0],
    "msgpackr's bundled strings, backwards": [0xd6, 0x62, 0xff, 0xff, 0xff, 0xf0, 0xc1, 0xa1, 0x61, 0xa0],
    "msgpackr's set": [0xc7, 0, 0x73, 0x91, 1],
    "msgpackr's regular expression": [0xc7, 0, 0x78, 0x92, 0xa4, ...Buffer.from('(a+)'), 0xa0],
    "msgpackr's error": [0xc7, 0, 0x65, 0x93, 0xa5, ...Buffer.from('Error'), 0xa1, 0x61, 0xc0],
    "msgpackr's typed array": [0xc7, 3, 0x74, 1, 2, 3],
    "msgpackr's big integer": [0xc7, 9, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    "msgpackr's array that contains itself": [0xd6, 0x69, 0, 0, 0, 1, 0x91, 0xd6, 0x70, 0, 0, 0, 1],
  }).map(([name, bytes]) => [name, Uint8Array.from(bytes)]),
);
