/** Fields with a narrower bound than their kind: lists of few elements, bytes of one length that may also be missing. */

import type { TupleReader } from '../pack.ts';
import { bytes, list, type Field } from './field.ts';

/** At most `maxLength` elements; `elementName` for messages. */
export function shortList<T>(maxLength: number, of: Field<T>, elementName: string): Field<readonly T[]> {
  const read = (reader: TupleReader, name: string): readonly T[] => {
    const elements = reader.tuple(name);
    if (elements.remaining > maxLength) reader.refuse(name, `at most ${maxLength} elements long`);
    const values: T[] = [];
    while (elements.remaining > 0) values.push(of.read(elements, elementName));
    return values;
  };
  return { ...list(of, elementName), read, shape: { kind: 'list', of: of.shape, maxLength } };
}

/** Of that length, or empty: there are none. */
export function exactBytesOrNone(length: number): Field<Uint8Array> {
  const read = (reader: TupleReader, name: string): Uint8Array => {
    const value = reader.bytes(name, length);
    if (value.length !== length && value.length > 0) reader.refuse(name, `${length} bytes long, or empty`);
    return value;
  };
  return { ...bytes(length), read, shape: { kind: 'bytes', minLength: length, maxLength: length, orNone: true } };
}
