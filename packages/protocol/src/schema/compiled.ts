/**
 * Functions that read and write the tuples of one declaration, made of its text. Gone through by a loop, the fields of all declarations
 * share each look-up of a name and each call: V8 learns nothing there, and to apply an entry takes a tenth longer. So made, each has places
 * of its own, and a value is one object literal.
 */

import type { Packable, TupleReader } from '../pack.ts';

/** A field, as far as its tuple has to know it. */
interface Coded {
  write(value: unknown): Packable;
  /** @throws MalformedError */
  read(reader: TupleReader, name: string, earlier?: unknown): unknown;
  size(value: unknown): number;
  readonly fixedSize?: number;
  readonly dependsOn?: string;
}

export interface NamedField {
  readonly name: string;
  readonly field: Coded;
}

/** What a tuple begins with, and what the value that is read from it has beside its fields. */
export interface TupleHead {
  readonly number: number;
  readonly type: string;
}

export interface Compiled {
  /** What stands behind the head. @throws MalformedError */
  read(reader: TupleReader): object;
  write(value: object): Packable[];
  /** Without the head. */
  writeFields(value: object): Packable[];
  /** Bytes that the fields take at most. */
  size(value: object): number;
}

type Make = (fields: readonly Coded[]) => Compiled;

/** Undefined where the program may not make code from text: by a policy of its page, or of its operator. */
export function compiled(parts: readonly NamedField[], head: TupleHead | undefined): Compiled | undefined {
  const places = parts.map((_, place) => place);
  const names = parts.map(({ name }) => JSON.stringify(name));
  const functions = places.map(
    (at) => `const f${at} = fields[${at}], r${at} = f${at}.read, w${at} = f${at}.write, s${at} = f${at}.size;`,
  );
  const type = head === undefined ? [] : [`type: ${JSON.stringify(head.type)}`];
  // What a later field depends on is kept aside while the literal is built.
  const earlier = parts.map(({ field: { dependsOn } }) => parts.findIndex(({ name }) => name === dependsOn));
  const kept = places.filter((at) => earlier.includes(at));
  const reads = places.map((at) => {
    const from = earlier[at] === -1 ? '' : `, v${earlier[at]}`;
    return `${names[at]}: ${kept.includes(at) ? `v${at} = ` : ''}r${at}(reader, ${names[at]}${from})`;
  });
  const read = [...type, ...reads];
  const write = places.map((at) => `w${at}(value[${names[at]}])`);
  // Of most fields the value need not be looked at.
  const fixed = parts.reduce((sum, { field }) => sum + (field.fixedSize ?? 0), 0);
  const sizes = places
    .filter((at) => parts[at]?.field.fixedSize === undefined)
    .map((at) => `s${at}(value[${names[at]}])`);
  const withHead = head === undefined ? write : [String(head.number), ...write];
  const text = `'use strict';
    ${functions.join('\n    ')}
    return {
      read: (reader) => { ${kept.map((at) => `let v${at};`).join(' ')} return { ${read.join(', ')} }; },
      write: (value) => [${withHead.join(', ')}],
      writeFields: (value) => [${write.join(', ')}],
      size: (value) => ${[fixed, ...sizes].join(' + ')},
    };`;
  try {
    // Of names and numbers of declarations alone: nothing from outside is in the text.
    // oxlint-disable-next-line typescript/no-implied-eval
    const make = new Function('fields', text) as Make;
    return make(parts.map(({ field }) => field));
  } catch (error) {
    if (error instanceof EvalError) return undefined;
    throw error;
  }
}
