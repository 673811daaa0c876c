/** A list whose elements decide what a state machine does: servers of two versions must read them alike, or read that they cannot. */

import type { Packable, TupleReader } from '../pack.ts';
import { list, type Field, type TupleField } from './field.ts';

interface Family<T> extends TupleField<T> {
  readonly readKnown: (reader: TupleReader) => T | undefined;
}

/** One of a type that this version does not know becomes `unknown`, which is never written; fields behind those that are known are refused. */
export function decidedList<T>(
  family: Family<Exclude<T, { readonly type: 'unknown' }>>,
  unknown: T,
): Field<readonly T[]> {
  const element = family as unknown as TupleField<T>;
  const readElement = (reader: TupleReader): T => {
    const value = family.readKnown(reader) as T | undefined;
    if (value === undefined) return unknown;
    if (reader.remaining > 0) reader.refuse('fields', `those that are known, not ${reader.remaining} more`);
    return value;
  };
  return {
    ...list(element),
    write: (values): Packable => values.map((value) => element.write(value)),
    read: (reader, name) => reader.list(name, readElement),
  };
}
