/**
 * msgpack as Holdfast uses it: positional tuples of numbers, strings, byte strings, booleans and tuples. Readers check every
 * field, since what arrives may be hostile, and decode a field when it is asked for: what nobody reads costs no memory.
 */

import { MalformedError } from './malformed-error.ts';
import {
  NotMsgpackError,
  arrayCountAt,
  arrayStart,
  booleanAt,
  bytesStart,
  numberAt,
  skipValue,
  stringStart,
} from './msgpack.ts';
import type { Packable } from './msgpack-writer.ts';
import { MAX_UTF8_BYTES_PER_UNIT, readText } from './text.ts';

export { pack, type Packable } from './msgpack-writer.ts';

/** @throws MalformedError unless the bytes from `start` on are one whole tuple. */
export function unpackTuple(bytes: Uint8Array, what: string, start = 0): TupleReader {
  let end: number;
  try {
    end = skipValue(bytes, start);
  } catch (error) {
    if (error instanceof NotMsgpackError) throw new MalformedError(`${what} ${error.message}`);
    throw error;
  }
  if (end < bytes.length) throw new MalformedError(`${what} has ${bytes.length - end} bytes behind its end`);
  return new TupleReader(bytes, start, what);
}

/** Reads the fields of a tuple in order. Fields added by later versions at the end are ignored. */
export class TupleReader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  /** Fields not yet read, and where the next one begins. */
  #remaining: number;
  #position: number;
  /** The tuple read last. The next field begins behind it, wherever its reader has stopped. */
  #inner: TupleReader | undefined;

  /** For bytes that have been checked as a whole. @throws MalformedError when there is no array at `position`. */
  constructor(bytes: Uint8Array, position: number, what: string) {
    const count = arrayCountAt(bytes, position);
    if (count === undefined) throw new MalformedError(`${what} is not a tuple`);
    this.#bytes = bytes;
    this.#what = what;
    this.#remaining = count;
    this.#position = arrayStart(bytes, position);
  }

  /** Fields that have not been read. */
  get remaining(): number {
    return this.#remaining;
  }

  /** An integer from 0 to 2^53 − 1. */
  integer(name: string): number {
    const value = numberAt(this.#bytes, this.#start(name));
    if (value === undefined || !Number.isSafeInteger(value) || value < 0) this.refuse(name, 'a non-negative integer');
    this.#advance();
    return withoutNegativeZero(value);
  }

  /** An integer from −2^53 + 1 to 2^53 − 1. */
  signed(name: string): number {
    const value = numberAt(this.#bytes, this.#start(name));
    if (value === undefined || !Number.isSafeInteger(value)) this.refuse(name, 'an integer');
    this.#advance();
    return withoutNegativeZero(value);
  }

  boolean(name: string): boolean {
    const value = booleanAt(this.#bytes, this.#start(name));
    if (value === undefined) this.refuse(name, 'a boolean');
    this.#advance();
    return value;
  }

  /** Well-formed Unicode. `maxLength` in UTF-16 units. */
  string(name: string, maxLength: number): string {
    const start = stringStart(this.#bytes, this.#start(name));
    if (start === undefined) this.refuse(name, 'a string');
    const end = this.#advance();
    if (end - start > maxLength * MAX_UTF8_BYTES_PER_UNIT) this.refuse(name, `at most ${maxLength} characters long`);
    let value: string;
    try {
      value = readText(this.#bytes, start, end);
    } catch {
      this.refuse(name, 'well-formed UTF-8');
    }
    if (value.length > maxLength) this.refuse(name, `at most ${maxLength} characters long`);
    return value;
  }

  /** A view of the decoded frame, not a copy. */
  bytes(name: string, maxLength: number): Uint8Array {
    const start = bytesStart(this.#bytes, this.#start(name));
    if (start === undefined) this.refuse(name, 'a byte string');
    const end = this.#advance();
    if (end - start > maxLength) this.refuse(name, `at most ${maxLength} bytes long`);
    return this.#bytes.subarray(start, end);
  }

  tuple(name: string): TupleReader {
    return this.#tuple(name, `${this.#what}.${name}`);
  }

  /** Reads a list, each element by `read`, which must not keep the reader. */
  list<T>(name: string, read: (element: TupleReader) => T): T[] {
    const elements = this.tuple(name);
    const values: T[] = [];
    for (let element: TupleReader | undefined; elements.#remaining > 0;) {
      element = elements.element(element);
      values.push(read(element));
    }
    return values;
  }

  /** The next field, which is a tuple. `before`: the reader of the one before, which reads this one now: of thousands each would be garbage. */
  element(before: TupleReader | undefined): TupleReader {
    if (before === undefined) return this.#tuple('', `${this.#what}[]`);
    this.#moveOn(before);
    return before;
  }

  /** Reads a list of plain fields, each by `read`, which takes exactly one. */
  fields<T>(name: string, read: (reader: TupleReader) => T): T[] {
    const reader = this.tuple(name);
    const values: T[] = [];
    while (reader.#remaining > 0) values.push(read(reader));
    return values;
  }

  /** Reads a tuple of any fields; undefined for an empty one. `maxBytes`: of all of them, as they are encoded. */
  values(name: string, maxBytes: number): Packable[] | undefined {
    const start = this.#start(name);
    if (arrayCountAt(this.#bytes, start) === 0) {
      this.#advance();
      return undefined;
    }
    if (skipValue(this.#bytes, start) - start > maxBytes) this.refuse(name, `at most ${maxBytes} bytes long`);
    return this.fields(name, (reader) => reader.#value());
  }

  #value(): Packable {
    const start = this.#start('value');
    if (arrayCountAt(this.#bytes, start) !== undefined) return this.fields('value', (reader) => reader.#value());
    if (numberAt(this.#bytes, start) !== undefined) return this.signed('value');
    if (stringStart(this.#bytes, start) !== undefined) return this.string('value', this.#bytes.length);
    if (bytesStart(this.#bytes, start) !== undefined) return this.bytes('value', this.#bytes.length);
    return this.boolean('value');
  }

  #tuple(name: string, what: string): TupleReader {
    const inner = new TupleReader(this.#bytes, this.#start(name), what);
    this.#remaining -= 1;
    this.#inner = inner;
    return inner;
  }

  /** The next field is a tuple, too: the reader of the one before reads that from here on. */
  #moveOn(inner: TupleReader): void {
    const position = this.#start('');
    inner.#begin(position);
    this.#remaining -= 1;
    this.#inner = inner;
  }

  #begin(position: number): void {
    const count = arrayCountAt(this.#bytes, position);
    if (count === undefined) throw new MalformedError(`${this.#what} is not a tuple`);
    this.#remaining = count;
    this.#position = arrayStart(this.#bytes, position);
    this.#inner = undefined;
  }

  /** Where the next field begins. */
  #start(name: string): number {
    if (this.#remaining === 0) this.refuse(name, 'present');
    if (this.#inner !== undefined) {
      this.#position = this.#inner.#end();
      this.#inner = undefined;
    }
    return this.#position;
  }

  /** Past the field that begins here; returns where it ends. */
  #advance(): number {
    this.#remaining -= 1;
    this.#position = skipValue(this.#bytes, this.#position);
    return this.#position;
  }

  #end(): number {
    let end = this.#inner === undefined ? this.#position : this.#inner.#end();
    for (let field = 0; field < this.#remaining; field += 1) end = skipValue(this.#bytes, end);
    return end;
  }

  /** The field that was read last is not what it must be. @throws MalformedError */
  refuse(name: string, expected: string): never {
    throw new MalformedError(`${this.#what}.${name} must be ${expected}`);
  }
}

/** A float can be −0, which counts as a safe integer. */
function withoutNegativeZero(value: number): number {
  return value + 0;
}
