import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  decodeCommand,
  encodeCommand,
  MalformedError,
  pack,
  TransactionReader,
  type Command,
  type Operation,
  type Packable,
  type UnknownOperation,
} from '../../src/index.ts';
import { command } from '../support/arbitraries.ts';

type Transaction = Extract<Command, { readonly type: 'transaction' }>;

const transaction = command.filter((value): value is Transaction => value.type === 'transaction');

function readAll(bytes: Uint8Array, start = 0): (Operation | UnknownOperation)[] {
  const reader = new TransactionReader(bytes, start);
  const read: (Operation | UnknownOperation)[] = [];
  while (reader.remaining > 0) read.push(reader.next());
  reader.end();
  return read;
}

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof MalformedError) return error.message;
    throw error;
  }
  return 'nothing';
}

describe('a transaction that is read one operation after the other', () => {
  it('has the operations that it has as a whole', () => {
    fc.assert(
      fc.property(transaction, fc.uint8Array({ maxLength: 20 }), (value, before) => {
        const bytes = Uint8Array.from([...before, ...encodeCommand(value)]);
        const decoded = decodeCommand('transaction', bytes, before.length) as Transaction;
        expect(readAll(bytes, before.length)).toEqual(decoded.operations);
      }),
    );
  });

  const good = [4, '/a', -1];
  it.each<[string, Packable]>([
    ['no list', [7]],
    ['nothing', []],
    ['fields behind the list', [[good], 1]],
    ['an operation that is no tuple', [[good, 7, good]]],
    ['an operation without its fields', [[good, [1, '/a'], good]]],
    ['an operation with more fields than are known', [[good, [4, '/a', -1, 7]]]],
    ['an operation of a later version', [[good, [99, 'what', 7], good]]],
  ])('is refused in the same words, or not, with %s', (_, value) => {
    const bytes = pack(value);
    expect(refusal(() => readAll(bytes))).toBe(refusal(() => decodeCommand('transaction', bytes)));
  });

  it('is checked to its end, also when what is left of it is not wanted', () => {
    const reader = new TransactionReader(pack([[good, good, [4, 7, -1]]]));
    reader.next();
    expect(refusal(() => reader.end())).toContain('operations[].path must be a string');
  });

  it('is refused with bytes behind its end', () => {
    const bytes = Uint8Array.from([...pack([[good]]), 1]);
    expect(refusal(() => readAll(bytes))).toBe(refusal(() => decodeCommand('transaction', bytes)));
  });
});
