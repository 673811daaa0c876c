/**
 * The fields of tuples, each declared once: from a declaration follow the type, how it is written and read, what it takes at most, and
 * what it may be.
 *
 * @example
 * const holder = record({ session: integer(), label: text(MAX_LABEL_LENGTH) });
 * type Holder = ValueOf<typeof holder>;
 */

import { errorCodeFromWire, errorCodeToWire, ERROR_CODES, type ErrorCode } from '../error-code.ts';
import { MAX_INDEX } from '../limits.ts';
import type { Packable, TupleReader } from '../pack.ts';
import { MAX_UTF8_BYTES_PER_UNIT } from '../text.ts';
import { compiled, type Compiled, type NamedField, type TupleHead } from './compiled.ts';
import type { Shape, Shapes } from './shape.ts';

export interface Field<T> {
  write(value: T): Packable;
  /** `earlier`: the value of the field that `dependsOn` names. @throws MalformedError */
  read(reader: TupleReader, name: string, earlier?: unknown): T;
  /** Bytes that the value takes at most. */
  size(value: T): number;
  /** The same, where it is one for all values. */
  readonly fixedSize?: number;
  readonly shape: Shape;
  /** For some values it is not written, and the tuple ends before it. */
  readonly mayEndTuple?: true;
  /** An earlier field of the same tuple, whose value says how this one is read. */
  readonly dependsOn?: string;
}

/** A field that is a tuple of its own. */
export interface TupleField<T> extends Field<T> {
  readonly writeTuple: (value: T) => Packable[];
  /** @throws MalformedError */
  readonly readTuple: (reader: TupleReader) => T;
}

/** Whoever makes the value may leave it out. */
export interface OptionalField<T> extends Field<T> {
  readonly optional: true;
}

/** Fields of all types stand side by side in a declaration. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K] extends OptionalField<unknown> ? K : never }[keyof F];

/** What the fields hold together. */
export type FieldValues<F extends Fields> = Flat<
  { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: ValueOf<F[K]> } & {
    readonly [K in OptionalKeys<F>]?: ValueOf<F[K]>;
  }
>;

export type ValueOf<F> = F extends Field<infer T> ? T : never;

export type Flat<T> = { [K in keyof T]: T[K] };

/** The longest number, and the head of the longest string or list. */
export const NUMBER_BYTES = 9;
export const HEAD_BYTES = 5;

const number = { size: (): number => NUMBER_BYTES, fixedSize: NUMBER_BYTES } as const;

/** From 0 to 2^53 − 1. */
export function integer(): Field<number> {
  const shape = { kind: 'integer', min: 0, max: MAX_INDEX } as const;
  return { write: same, read: (reader, name) => reader.integer(name), ...number, shape };
}

/** From −2^53 + 1 to 2^53 − 1. */
export function signed(): Field<number> {
  const shape = { kind: 'integer', min: -MAX_INDEX, max: MAX_INDEX } as const;
  return { write: same, read: (reader, name) => reader.signed(name), ...number, shape };
}

/** Any other is malformed. */
export function integerWithin(min: number, max: number): Field<number> {
  const read = (reader: TupleReader, name: string): number => {
    const value = reader.integer(name);
    if (value < min || value > max) reader.refuse(name, `from ${min} to ${max}`);
    return value;
  };
  return { write: same, read, ...number, shape: { kind: 'integer', min, max } };
}

/** Any other counts as the nearest of these. */
export function clamped(min: number, max: number): Field<number> {
  const read = (reader: TupleReader, name: string): number => Math.max(min, Math.min(max, reader.integer(name)));
  return { write: same, read, ...number, shape: { kind: 'integer', min, max } };
}

export function flag(): Field<boolean> {
  return {
    write: same,
    read: (reader, name) => reader.boolean(name),
    size: () => 1,
    fixedSize: 1,
    shape: { kind: 'boolean' },
  };
}

/** `maxLength` in UTF-16 units. */
export function text(maxLength: number): Field<string> {
  const size = (value: string): number => HEAD_BYTES + MAX_UTF8_BYTES_PER_UNIT * value.length;
  const read = (reader: TupleReader, name: string): string => reader.string(name, maxLength);
  return { write: same, read, size, shape: { kind: 'text', maxLength } };
}

/** What is longer is cut by the writer. */
export function cutText(maxLength: number): Field<string> {
  const size = (value: string): number => HEAD_BYTES + MAX_UTF8_BYTES_PER_UNIT * Math.min(maxLength, value.length);
  return { ...text(maxLength), write: (value) => value.slice(0, maxLength), size };
}

/** Read as a view of the frame, not a copy. */
export function bytes(maxLength: number): Field<Uint8Array> {
  const size = (value: Uint8Array): number => HEAD_BYTES + value.length;
  const read = (reader: TupleReader, name: string): Uint8Array => reader.bytes(name, maxLength);
  return { write: same, read, size, shape: { kind: 'bytes', minLength: 0, maxLength } };
}

export function exactBytes(length: number): Field<Uint8Array> {
  const read = (reader: TupleReader, name: string): Uint8Array => {
    const value = reader.bytes(name, length);
    if (value.length !== length) reader.refuse(name, `${length} bytes long`);
    return value;
  };
  return { ...bytes(length), read, shape: { kind: 'bytes', minLength: length, maxLength: length } };
}

/** One of a closed series, which may grow at its end; written as its place there. */
export function choice<const T extends string>(values: readonly T[]): Field<T> {
  const read = (reader: TupleReader, name: string): T => {
    const value = values[reader.integer(name)];
    if (value === undefined) reader.refuse(name, 'one that this version knows');
    return value;
  };
  return { write: (value) => values.indexOf(value), read, ...number, shape: { kind: 'choice', of: values } };
}

/** The same, and one of a later version becomes `unknown`: whoever is told lives on, and nothing is promised about it. */
export function choiceOr<const T extends string, const U extends string>(
  values: readonly T[],
  unknown: U,
): Field<T | U> {
  const read = (reader: TupleReader, name: string): T | U => values[reader.integer(name)] ?? unknown;
  const write = (value: T | U): number => {
    const place = (values as readonly string[]).indexOf(value);
    return place < 0 ? values.length : place;
  };
  return { write, read, ...number, shape: { kind: 'choice', of: values } };
}

const ERROR_CODE_SHAPE: Shape = { kind: 'choice', of: Object.keys(ERROR_CODES) };

/** One of a later version becomes UNSUPPORTED: what it says is still told, and nothing is promised about it. */
export function errorCode(): Field<ErrorCode> {
  const read = (reader: TupleReader, name: string): ErrorCode =>
    errorCodeFromWire(reader.integer(name)) ?? 'UNSUPPORTED';
  return { write: errorCodeToWire, read, ...number, shape: ERROR_CODE_SHAPE };
}

/** Between servers, which understand each other: one of a later version is malformed. */
export function knownErrorCode(): Field<ErrorCode> {
  const read = (reader: TupleReader, name: string): ErrorCode => {
    const code = errorCodeFromWire(reader.integer(name));
    if (code === undefined) reader.refuse(name, 'one that this version knows');
    return code;
  };
  return { ...errorCode(), read };
}

/** `elementName`: of an element that is no tuple, for messages. */
export function list<T>(of: Field<T> | TupleField<T>, elementName = 'element'): Field<readonly T[]> {
  const read = (reader: TupleReader, name: string): readonly T[] =>
    'readTuple' in of
      ? reader.list(name, (element) => of.readTuple(element))
      : reader.fields(name, (fields) => of.read(fields, elementName));
  return {
    write: (values) => values.map((value) => of.write(value)),
    read,
    size: (values) => values.reduce((sum, value) => sum + of.size(value), HEAD_BYTES),
    shape: { kind: 'list', of: of.shape },
  };
}

/** Was appended to its tuple by a later version: whoever does not write it means `absent`. */
export function later<T>(of: Field<T>, absent: T): Field<T> {
  const read = (reader: TupleReader, name: string): T => (reader.remaining > 0 ? of.read(reader, name) : absent);
  return { ...of, read, shape: { kind: 'later', of: of.shape, absent } };
}

/** The same, and whoever makes the value may leave it out: then it is written as `absent`. */
export function optional<T>(of: Field<T>, absent: T): OptionalField<T> {
  const write = (value: T | undefined): Packable => of.write(value ?? absent);
  return { ...later(of, absent), write, size: (value: T | undefined) => of.size(value ?? absent), optional: true };
}

/** At the end of a tuple, which ends before it when it is undefined. */
export function trailing<T>(of: Field<T>): Field<T | undefined> {
  return {
    write: (value) => (value === undefined ? OMITTED : of.write(value)),
    read: (reader, name) => (reader.remaining > 0 ? of.read(reader, name) : undefined),
    size: (value) => (value === undefined ? 0 : of.size(value)),
    shape: { kind: 'later', of: of.shape, absent: undefined },
    mayEndTuple: true,
  };
}

/** The same, as a key that is not there. */
export function trailingOptional<T>(of: Field<T>): OptionalField<T> {
  return { ...trailing(of), optional: true } as OptionalField<T>;
}

/** The same, where `absent` is what the field mostly is. */
export function trailingUnless<T>(absent: T, of: Field<T>): Field<T> {
  return {
    write: (value) => (value === absent ? OMITTED : of.write(value)),
    read: (reader, name) => (reader.remaining > 0 ? of.read(reader, name) : absent),
    size: (value) => of.size(value),
    shape: { kind: 'later', of: of.shape, absent },
    mayEndTuple: true,
  };
}

/** A tuple of named fields, in the order of their declaration. */
export function record<const F extends Fields>(fields: F): TupleField<FieldValues<F>> {
  const tuple = new TupleOf(fields);
  return {
    write: (value) => tuple.write(value),
    writeTuple: (value) => tuple.write(value),
    read: (reader, name) => tuple.read(reader.tuple(name)) as FieldValues<F>,
    readTuple: (reader) => tuple.read(reader) as FieldValues<F>,
    size: (value) => tuple.size(value),
    ...(tuple.fixedSize === undefined ? {} : { fixedSize: tuple.fixedSize }),
    shape: { kind: 'record', fields: tuple.shapes },
  };
}

/** Stands for a field at the end of a tuple that is not written. */
const OMITTED: Packable = [];

/**
 * Reads and writes the fields of a declaration one after the other. As {@link compiled} does it, where that is possible; otherwise by
 * places, since an iterator for each tuple would be garbage.
 */
export class TupleOf {
  readonly shapes: Shapes;
  /** Where it is the same for all values. */
  readonly fixedSize: number | undefined;
  readonly #parts: readonly (NamedField & { readonly field: Field<unknown> })[];
  readonly #type: string | undefined;
  /** Of the right length from the beginning: an array that grows takes twice the memory. */
  readonly #blank: readonly Packable[];
  readonly #headless: readonly Packable[];
  readonly #Value = plainObjects();
  readonly #compiled: Compiled | undefined;
  /** Its tuples may end before they have all fields. */
  readonly #mayEnd: boolean;

  /** @param compile false: as where no code may be made from text */
  constructor(fields: Fields, head?: TupleHead, compile = true) {
    this.#parts = Object.entries(fields).map(([name, field]) => ({ name, field }));
    this.#type = head?.type;
    this.#headless = this.#parts.map(() => '');
    this.#blank = head === undefined ? this.#headless : [head.number, ...this.#headless];
    this.shapes = Object.fromEntries(this.#parts.map(({ name, field }) => [name, field.shape]));
    this.fixedSize = this.#parts.every(({ field }) => field.fixedSize !== undefined)
      ? this.#parts.reduce((sum, { field }) => sum + (field.fixedSize ?? 0), HEAD_BYTES)
      : undefined;
    this.#compiled = compile ? compiled(this.#parts, head) : undefined;
    this.#mayEnd = this.#parts.some(({ field }) => field.mayEndTuple === true);
    for (const [at, { name, field }] of this.#parts.entries())
      if (field.dependsOn !== undefined && !this.#parts.slice(0, at).some((part) => part.name === field.dependsOn))
        throw new TypeError(`${name} depends on ${field.dependsOn}, which is no field before it`);
  }

  write(value: object): Packable[] {
    if (this.#compiled !== undefined && !this.#mayEnd) return this.#compiled.write(value);
    return this.#fill(this.#blank.slice(), value);
  }

  /** Without the head. */
  writeFields(value: object): Packable[] {
    if (this.#compiled !== undefined && !this.#mayEnd) return this.#compiled.writeFields(value);
    return this.#fill(this.#headless.slice(), value);
  }

  /** What stands behind the head. @throws MalformedError */
  read(reader: TupleReader): object {
    return this.#compiled === undefined ? this.#read(reader) : this.#compiled.read(reader);
  }

  /** Bytes that the tuple takes at most, its head included. */
  size(value: object): number {
    return this.#compiled === undefined ? this.#size(value) : HEAD_BYTES + this.#compiled.size(value);
  }

  #size(value: object): number {
    let sum = HEAD_BYTES;
    for (const { name, field } of this.#parts) sum += field.size((value as Record<string, unknown>)[name]);
    return sum;
  }

  #read(reader: TupleReader): object {
    const value = new this.#Value();
    if (this.#type !== undefined) value['type'] = this.#type;
    for (let at = 0; at < this.#parts.length; at += 1) {
      const { name, field } = this.#parts[at] as NamedField;
      const earlier = field.dependsOn === undefined ? undefined : value[field.dependsOn];
      value[name] = field.read(reader, name, earlier);
    }
    return value;
  }

  #fill(tuple: Packable[], value: object): Packable[] {
    const first = tuple.length - this.#parts.length;
    for (let at = 0; at < this.#parts.length; at += 1) {
      const { name, field } = this.#parts[at] as NamedField;
      const written = field.write((value as Record<string, unknown>)[name]);
      if (written === OMITTED) {
        tuple.length = first + at;
        break;
      }
      tuple[first + at] = written;
    }
    return tuple;
  }
}

/**
 * Makes plain objects, each declaration by a function of its own: V8 then learns how many fields they get, and keeps these in the object
 * itself. One that begins as `{}` keeps what is added in a second allocation.
 */
function plainObjects(): new () => Record<string, unknown> {
  const Value = function () {} as unknown as new () => Record<string, unknown>;
  Value.prototype = Object.prototype;
  return Value;
}

function same<T>(value: T): T {
  return value;
}
