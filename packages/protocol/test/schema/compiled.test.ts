/** Tuples read and written by functions made for their declaration, beside the same gone through field by field. */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MalformedError } from '../../src/index.ts';
import { pack, unpackTuple, type Packable } from '../../src/pack.ts';
import {
  bytes,
  choice,
  flag,
  integer,
  later,
  list,
  optional,
  record,
  text,
  trailing,
  TupleOf,
  type Field,
  type Fields,
} from '../../src/schema/field.ts';

const common = {
  number: integer(),
  'a "quoted" name': text(20),
  data: bytes(20),
  place: choice(['first', 'second']),
  pairs: list(record({ left: integer(), right: flag() })),
};
/** Written as the difference to that field, which is read before. */
function above(dependsOn: string): Field<number> {
  return {
    ...integer(),
    dependsOn,
    read: (reader, name, earlier) => (earlier as number) + reader.integer(name),
  };
}

const head = { number: 7, type: 'seventh' };
const declarations: Readonly<Record<string, Fields>> = {
  'no field': {},
  'every kind of field': common,
  'fields of later versions': { ...common, since: later(integer(), 5), perhaps: optional(flag(), false) },
  'a field that ends the tuple': { ...common, end: trailing(integer()) },
  'a field that depends on an earlier one': { ...common, since: above('number'), perhaps: later(flag(), true) },
};

const value = fc.record({
  number: fc.nat(),
  'a "quoted" name': fc.string({ maxLength: 20 }),
  data: fc.uint8Array({ maxLength: 20 }),
  place: fc.constantFrom('first', 'second'),
  pairs: fc.array(fc.record({ left: fc.nat(), right: fc.boolean() }), { maxLength: 3 }),
  since: fc.nat(),
  perhaps: fc.boolean(),
  end: fc.option(fc.nat(), { nil: undefined }),
});

function outcome(read: () => object): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedError) return error.message;
    throw error;
  }
}

describe.for(Object.keys(declarations))('a tuple with %s', (name) => {
  const fields = declarations[name] as Fields;
  const compiled = new TupleOf(fields, head);
  const looped = new TupleOf(fields, head, false);

  it('is written alike, with its head and without', () => {
    const property = fc.property(value, (written) => {
      expect(compiled.write(written)).toEqual(looped.write(written));
      expect(compiled.writeFields(written)).toEqual(looped.writeFields(written));
      expect(compiled.write(written)[0]).toBe(head.number);
    });
    fc.assert(property);
  });

  it('has the same bound', () => {
    const property = fc.property(value, (written) => {
      expect(compiled.size(written)).toBe(looped.size(written));
      expect(pack(compiled.write(written)).length).toBeLessThanOrEqual(compiled.size(written));
    });
    fc.assert(property);
  });

  it('is read alike, whole or cut off', () => {
    const property = fc.property(value, fc.nat({ max: 8 }), (written, cut) => {
      const tuple: Packable = looped.writeFields(written).slice(0, cut);
      const of = (by: TupleOf): unknown => outcome(() => by.read(unpackTuple(pack(tuple), 'tuple')));
      expect(of(compiled)).toEqual(of(looped));
    });
    fc.assert(property);
  });
});

describe('a field that depends on another', () => {
  it('is given the value of that, however tuples are read', () => {
    const tuple = pack([5, 'between', 7]);
    const fields = { first: integer(), between: text(10), second: above('first') };
    const expected = { type: head.type, first: 5, between: 'between', second: 12 };
    expect(new TupleOf(fields, head).read(unpackTuple(tuple, 'tuple'))).toEqual(expected);
    expect(new TupleOf(fields, head, false).read(unpackTuple(tuple, 'tuple'))).toEqual(expected);
  });

  it('cannot be declared before that, or without it', () => {
    expect(() => new TupleOf({ second: above('first'), first: integer() })).toThrow('depends on first');
    expect(() => new TupleOf({ second: above('second') })).toThrow('depends on second');
  });
});

describe('a program that may not make code from text', () => {
  it('reads and writes commands all the same', () => {
    const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
    const script = `
      import { decodeCommand, encodeCommand } from ${JSON.stringify(built)};
      const command = { type: 'set', path: '/a', data: new Uint8Array([1, 2]), version: -1 };
      const { data, ...read } = decodeCommand('set', encodeCommand(command));
      console.log(JSON.stringify({ ...read, data: [...data] }));`;
    const options = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval', script];
    const printed = execFileSync(process.execPath, options, { encoding: 'utf8' });
    expect(JSON.parse(printed)).toEqual({ type: 'set', path: '/a', data: [1, 2], version: -1 });
  });
});
