/**
 * msgpack as Holdfast uses it: positional tuples of numbers, strings, byte strings, booleans and tuples. Readers check every
 * field, since what arrives may be hostile; anything else that msgpack can carry is refused by the field that does not expect it.
 */

import { Packr } from 'msgpackr';
import { MalformedError } from './malformed-error.ts';

// Plain msgpack without msgpackr's record extension: no state to share between the two ends, or with a log replayed years later.
const packr = new Packr({ useRecords: false, int64AsType: 'number', moreTypes: false });

export type Packable = number | string | boolean | Uint8Array | readonly Packable[];

export function pack(value: Packable): Uint8Array {
  return packr.pack(value);
}

/** @throws MalformedError */
export function unpackTuple(bytes: Uint8Array, what: string): TupleReader {
  let value: unknown;
  try {
    value = packr.unpack(bytes);
  } catch (error) {
    throw new MalformedError(`${what} is not msgpack`, { cause: error });
  }
  return new TupleReader(value, what);
}

/** Reads the fields of a decoded tuple in order. Fields added by later versions at the end are ignored. */
export class TupleReader {
  readonly #fields: readonly unknown[];
  readonly #what: string;
  #next = 0;

  /** @throws MalformedError when `value` is not an array. */
  constructor(value: unknown, what: string) {
    if (!Array.isArray(value)) throw new MalformedError(`${what} is not a tuple`);
    this.#fields = value;
    this.#what = what;
  }

  get remaining(): number {
    return this.#fields.length - this.#next;
  }

  get length(): number {
    return this.#fields.length;
  }

  /** An integer from 0 to 2^53 − 1. */
  integer(name: string): number {
    const value = this.#take();
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      this.#fail(name, 'a non-negative integer');
    return value;
  }

  /** An integer from −2^53 + 1 to 2^53 − 1. */
  signed(name: string): number {
    const value = this.#take();
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) this.#fail(name, 'an integer');
    return value;
  }

  /** Any finite number. */
  number(name: string): number {
    const value = this.#take();
    if (typeof value !== 'number' || !Number.isFinite(value)) this.#fail(name, 'a finite number');
    return value;
  }

  boolean(name: string): boolean {
    const value = this.#take();
    if (typeof value !== 'boolean') this.#fail(name, 'a boolean');
    return value;
  }

  string(name: string, maxLength: number): string {
    const value = this.#take();
    if (typeof value !== 'string') this.#fail(name, 'a string');
    if (value.length > maxLength) this.#fail(name, `at most ${maxLength} characters long`);
    return value;
  }

  /** A view of the decoded frame, not a copy. */
  bytes(name: string, maxLength: number): Uint8Array {
    const value = this.#take();
    if (!(value instanceof Uint8Array)) this.#fail(name, 'a byte string');
    if (value.length > maxLength) this.#fail(name, `at most ${maxLength} bytes long`);
    return value;
  }

  tuple(name: string): TupleReader {
    return new TupleReader(this.#take(), `${this.#what}.${name}`);
  }

  /** Reads a list, each element by `read`. */
  list<T>(name: string, read: (element: TupleReader) => T): T[] {
    const value = this.#take();
    if (!Array.isArray(value)) this.#fail(name, 'a list');
    return value.map((element) => read(new TupleReader(element, `${this.#what}.${name}[]`)));
  }

  /** Reads a list of plain fields, each by `read`, which takes exactly one. */
  fields<T>(name: string, read: (reader: TupleReader) => T): T[] {
    const reader = this.tuple(name);
    const values: T[] = [];
    while (reader.remaining > 0) values.push(read(reader));
    return values;
  }

  #take(): unknown {
    return this.#fields[this.#next++];
  }

  #fail(name: string, expected: string): never {
    throw new MalformedError(`${this.#what}.${name} must be ${expected}`);
  }
}
