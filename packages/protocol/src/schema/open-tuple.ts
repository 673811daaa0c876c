/** A tuple that another declaration reads: whoever decodes the message around it need not know that. */

import type { Packable, TupleReader } from '../pack.ts';
import { MAX_UTF8_BYTES_PER_UNIT } from '../text.ts';
import { HEAD_BYTES, NUMBER_BYTES, optional, type Field, type OptionalField } from './field.ts';

const NONE: readonly Packable[] = [];

/** Of numbers, text, bytes, flags and tuples of such; `maxBytes` of all of them, as they are encoded. Empty where it is left out. */
export function openTuple(maxBytes: number): OptionalField<readonly Packable[]> {
  const field: Field<readonly Packable[]> = {
    write: (values) => values,
    read: (reader: TupleReader, name: string) => reader.values(name, maxBytes) ?? NONE,
    size: sizeOf,
    shape: { kind: 'tuple', maxBytes },
  };
  return optional(field, NONE);
}

/** At most. */
function sizeOf(value: Packable): number {
  if (typeof value === 'string') return HEAD_BYTES + value.length * MAX_UTF8_BYTES_PER_UNIT;
  if (typeof value === 'number' || typeof value === 'boolean') return NUMBER_BYTES;
  if (value instanceof Uint8Array) return HEAD_BYTES + value.length;
  return value.reduce<number>((sum, each) => sum + sizeOf(each), HEAD_BYTES);
}
