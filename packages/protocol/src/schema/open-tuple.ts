/** A tuple that another declaration reads: whoever decodes the message around it need not know that. */

import type { Packable, TupleReader } from '../pack.ts';
import { optional, type Field, type OptionalField } from './field.ts';

const NONE: readonly Packable[] = [];

/** Of numbers, text, bytes, flags and tuples of such; `maxBytes` of all of them, as they are encoded. Empty where it is left out. */
export function openTuple(maxBytes: number): OptionalField<readonly Packable[]> {
  const field: Field<readonly Packable[]> = {
    write: (values) => values,
    read: (reader: TupleReader, name: string) => reader.values(name, maxBytes) ?? NONE,
    size: () => maxBytes,
    shape: { kind: 'tuple', maxBytes },
  };
  return optional(field, NONE);
}
