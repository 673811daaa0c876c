/**
 * Families of messages, each declared once: a message is a tuple of its number and its fields. A number and what stands before in its
 * tuple never change; what a later version adds gets a new number, or a place at the end.
 *
 * @example
 * const queries = messages('query', { get: message(1, { path: text(MAX_PATH_LENGTH) }) });
 * type Query = ValueOf<typeof queries>; // { readonly type: 'get'; readonly path: string }
 */

import { MalformedError } from '../malformed-error.ts';
import type { Packable, TupleReader } from '../pack.ts';
import { TupleOf, type FieldValues, type Fields, type Flat, type TupleField } from './field.ts';
import type { MessageShape } from './shape.ts';

export interface Declared<N extends number = number, F extends Fields = Fields> {
  readonly number: N;
  readonly fields: F;
}

export type Declarations = Readonly<Record<string, Declared>>;

export function message<const N extends number, const F extends Fields>(number: N, fields: F): Declared<N, F> {
  return { number, fields };
}

/** Any one of the messages. */
export type MessageOf<D extends Declarations> = {
  [K in keyof D & string]: Flat<{ readonly type: K } & FieldValues<D[K]['fields']>>;
}[keyof D & string];

export type NumbersOf<D extends Declarations> = { readonly [K in keyof D]: D[K]['number'] };

export interface Messages<D extends Declarations> extends TupleField<MessageOf<D>> {
  readonly numbers: NumbersOf<D>;
  /** Undefined for a number that this version does not know. */
  nameOf(number: number): (keyof D & string) | undefined;
  /** Undefined for a message that this version does not know. @throws MalformedError */
  readonly readKnown: (reader: TupleReader) => MessageOf<D> | undefined;
  /** The tuple without the number, where that stands elsewhere. */
  writeFields(value: MessageOf<D>): Packable[];
  /** The same, as it is read. @throws MalformedError */
  readFields<K extends keyof D & string>(name: K, reader: TupleReader): Extract<MessageOf<D>, { readonly type: K }>;
  readonly shapes: Readonly<Record<string, MessageShape>>;
}

/** The same family as it is told to others: one of a later version becomes `unknown`. */
export function tolerant<T>(
  family: TupleField<T> & { readonly readKnown: (reader: TupleReader) => T | undefined },
  unknown: T,
): TupleField<T> {
  const readTuple = (reader: TupleReader): T => family.readKnown(reader) ?? unknown;
  return { ...family, readTuple, read: (reader, name) => readTuple(reader.tuple(name)) };
}

/** `what`: one of the family, for messages. */
export function messages<const D extends Declarations>(what: string, declarations: D): Messages<D> {
  type Any = MessageOf<D>;
  const byName = new Map<string, { readonly number: number; readonly tuple: TupleOf }>();
  const names: string[] = [];
  const byNumber: (TupleOf | undefined)[] = [];
  for (const [name, { number, fields }] of Object.entries(declarations)) {
    if (names[number] !== undefined) throw new TypeError(`${what}: ${name} has the number of ${names[number]}`);
    names[number] = name;
    const tuple = new TupleOf(fields, { number, type: name });
    byNumber[number] = tuple;
    byName.set(name, { number, tuple });
  }
  const of = (name: string): { readonly number: number; readonly tuple: TupleOf } => {
    const found = byName.get(name);
    if (found === undefined) throw new TypeError(`${what} "${name}" is not declared`);
    return found;
  };
  const writeTuple = (value: Any): Packable[] => of(value.type).tuple.write(value);
  const readKnown = (reader: TupleReader): Any | undefined => {
    return byNumber[reader.integer('type')]?.read(reader) as Any | undefined;
  };
  const readTuple = (reader: TupleReader): Any => {
    const number = reader.integer('type');
    const tuple = byNumber[number];
    if (tuple === undefined) throw new MalformedError(`${what} type ${number} is unknown`);
    return tuple.read(reader) as Any;
  };
  const shapes = Object.fromEntries(
    [...byName].map(([name, { number, tuple }]) => [name, { number, fields: tuple.shapes }]),
  );
  return {
    numbers: Object.fromEntries([...byName].map(([name, { number }]) => [name, number])) as NumbersOf<D>,
    nameOf: (number) => names[number],
    write: writeTuple,
    writeTuple,
    read: (reader, name) => readTuple(reader.tuple(name)),
    readTuple,
    readKnown,
    writeFields: (value) => of(value.type).tuple.writeFields(value),
    readFields: (name, reader) => of(name).tuple.read(reader) as never,
    size: (value) => of(value.type).tuple.size(value),
    shape: { kind: 'union', of: shapes },
    shapes,
  };
}
