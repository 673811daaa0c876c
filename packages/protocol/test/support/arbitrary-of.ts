/** Every value that a declared field can carry, made from its shape. */

import fc, { type Arbitrary } from 'fast-check';

import { MAX_INDEX } from '../../src/index.ts';
import type { Field, Shape } from '../../src/schema/index.ts';

const MAX_GENERATED_BYTES = 300;
const MAX_GENERATED_ELEMENTS = 6;

/** Every width of msgpack's integers, and the doubles that msgpackr writes for those beyond 32 bits. */
const integer = fc.oneof(
  fc.constantFrom(0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, MAX_INDEX),
  fc.nat({ max: MAX_INDEX }),
);
const anyInteger = fc.oneof(fc.constantFrom(-1, -32, -33, -128, -129, -32_769, -MAX_INDEX), integer);

/** Well-formed text; U+FEFF first, and lengths around msgpackr's and the reader's own switches between decoders. */
export function text(maxLength: number): Arbitrary<string> {
  const unit = fc.oneof(fc.constantFrom('a', 'ü', '中', '\u{1f512}', '\0', '\ufeff', '\ufffd', '\uffff'), char);
  return fc
    .oneof(
      fc.string({ unit, maxLength: Math.min(maxLength, 90) }),
      fc.string({ unit: fc.constantFrom('a', '/', '~'), maxLength: Math.min(maxLength, 90) }),
      fc.nat({ max: maxLength }).map((length) => 'x'.repeat(length)),
    )
    .filter((string) => string.length <= maxLength);
}
const char = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 });

/** By the name of their format. */
export type Blocks = Readonly<Record<string, Arbitrary<unknown>>>;

/** Of a field: all that it may be, but for byte strings and lists of great length. */
export function valuesOf<T>({ shape }: Field<T>, blocks: Blocks = {}): Arbitrary<T> {
  return arbitraryOf(shape, blocks) as Arbitrary<T>;
}

function arbitraryOf(shape: Shape, blocks: Blocks): Arbitrary<unknown> {
  switch (shape.kind) {
    case 'integer':
      return integers(shape.min, shape.max);
    case 'boolean':
      return fc.boolean();
    case 'text':
      return text(shape.maxLength);
    case 'bytes':
      return shape.orNone === true ? fc.oneof(fc.constant(new Uint8Array(0)), byteStrings(shape)) : byteStrings(shape);
    case 'block': {
      const values = blocks[shape.of];
      if (values === undefined) throw new TypeError(`nothing generates the format ${shape.of}`);
      return values;
    }
    case 'choice':
      return fc.constantFrom(...shape.of);
    case 'list':
      return fc.array(arbitraryOf(shape.of, blocks), {
        maxLength: Math.min(MAX_GENERATED_ELEMENTS, shape.maxLength ?? Infinity),
      });
    case 'record':
      return fc.record(fieldsOf(shape.fields, blocks));
    case 'union':
      return fc.oneof(
        ...Object.entries(shape.of).map(([type, { fields }]) =>
          fc.record({ type: fc.constant(type), ...fieldsOf(fields, blocks) }),
        ),
      );
    case 'tuple':
      return fc.array(fc.oneof(anyInteger, fc.boolean(), text(20), fc.array(anyInteger, { maxLength: 2 })), {
        maxLength: MAX_GENERATED_ELEMENTS,
      });
    case 'later':
      return fc.oneof(arbitraryOf(shape.of, blocks), fc.constant(shape.absent));
  }
}

function fieldsOf(shapes: Readonly<Record<string, Shape>>, blocks: Blocks): Record<string, Arbitrary<unknown>> {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, arbitraryOf(shape, blocks)]));
}

function byteStrings({ minLength, maxLength }: Extract<Shape, { kind: 'bytes' }>): Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength, maxLength: Math.max(minLength, Math.min(MAX_GENERATED_BYTES, maxLength)) });
}

function integers(min: number, max: number): Arbitrary<number> {
  if (min === 0 && max === MAX_INDEX) return integer;
  if (min === -MAX_INDEX && max === MAX_INDEX) return anyInteger;
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }));
}
