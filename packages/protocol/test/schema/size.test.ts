/** The byte bound of a message, which follows from its declaration. */

import fc, { type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { clientMessages, commands, pack, serverMessages } from '../../src/index.ts';
import { answers, queries } from '../../src/messages/query.ts';
import { replies } from '../../src/messages/reply.ts';
import type { TupleField } from '../../src/schema/index.ts';
import { stat as declaredStat } from '../../src/messages/stat.ts';
import * as arbitraries from '../support/arbitraries.ts';

interface Case {
  readonly name: string;
  readonly declared: Pick<TupleField<never>, 'size' | 'writeTuple'>;
  readonly values: Arbitrary<unknown>;
}

const cases: readonly Case[] = [
  { name: 'client message', declared: clientMessages, values: arbitraries.clientMessage },
  { name: 'server message', declared: serverMessages, values: arbitraries.serverMessage },
  { name: 'command', declared: commands, values: arbitraries.command },
  { name: 'reply', declared: replies, values: arbitraries.reply },
  { name: 'query', declared: queries, values: arbitraries.query },
  { name: 'answer', declared: answers, values: arbitraries.answer },
  { name: 'stat', declared: declaredStat, values: arbitraries.stat },
];

describe.for(cases)('the byte bound of any $name', ({ declared, values }) => {
  it('holds', () => {
    const property = fc.property(values, (value) => {
      const written = pack(declared.writeTuple(value as never));
      expect(written.length).toBeLessThanOrEqual(declared.size(value as never));
    });
    fc.assert(property, { numRuns: 300 });
  });
});

describe('the byte bound of a request', () => {
  it('is that of its payload and of four fields beside it', () => {
    const size = (bytes: number): number =>
      clientMessages.size({ type: 'request', number: 1, ackedUpTo: 0, command: 3, payload: new Uint8Array(bytes) });
    expect(size(0)).toBe(5 + 3 * 9 + 5);
    expect(size(1_000) - size(0)).toBe(1_000);
  });
});
