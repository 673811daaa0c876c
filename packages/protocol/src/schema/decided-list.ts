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
  const readElement = decidedElement(family, unknown);
  return {
    ...list(element),
    write: (values): Packable => values.map((value) => element.write(value)),
    read: (reader, name) => reader.list(name, readElement),
  };
}

/** How one of its elements is read. */
export function decidedElement<T>(
  family: Family<Exclude<T, { readonly type: 'unknown' }>>,
  unknown: T,
): (reader: TupleReader) => T {
  return (reader) => {
    const value = family.readKnown(reader) as T | undefined;
    if (value === undefined) return unknown;
    if (reader.remaining > 0) reader.refuse('fields', `those that are known, not ${reader.remaining} more`);
    return value;
  };
}
