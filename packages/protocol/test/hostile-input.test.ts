/** Whatever arrives, a decoder gives back messages or throws a MalformedError, in time and memory proportional to the bytes. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  CommandType,
  MAX_FRAME_BYTES,
  MAX_FRAME_MESSAGES,
  MalformedError,
  decodeClientFrame,
  decodeCommand,
  decodeServerFrame,
  encodeClientFrame,
  encodeCommand,
  encodeServerFrame,
  type CommandName,
} from '../src/index.ts';
import { clientMessage, command, serverMessage } from './support/arbitraries.ts';
import { hostileValues, joined, rawTuple } from './support/raw.ts';

const names = Object.keys(CommandType) as CommandName[];
const decoders: readonly ((bytes: Uint8Array) => unknown)[] = [
  decodeClientFrame,
  decodeServerFrame,
  ...names.map((name) => (bytes: Uint8Array) => decodeCommand(name, bytes)),
];

/** Whether every decoder gave a value or a MalformedError; anything else is thrown on. */
function refusals(bytes: Uint8Array): number {
  let refused = 0;
  for (const decode of decoders) {
    try {
      decode(bytes);
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      refused += 1;
    }
  }
  return refused;
}

const encoded = fc.oneof(
  fc.array(clientMessage, { minLength: 1, maxLength: 3 }).map(encodeClientFrame),
  fc.array(serverMessage, { minLength: 1, maxLength: 3 }).map(encodeServerFrame),
  command.map(encodeCommand),
);

describe('hostile input', () => {
  it('of random bytes is refused with a MalformedError, or is a message', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        refusals(bytes);
        refusals(joined(Uint8Array.of(0x91, 0x90 + (bytes.length % 16)), bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  it('that ends too early is refused by every decoder', () => {
    fc.assert(
      fc.property(encoded, fc.nat(), (bytes, at) => {
        expect(refusals(bytes.subarray(0, at % bytes.length))).toBe(decoders.length);
      }),
      { numRuns: 500 },
    );
  });

  it('with more behind its end is refused by every decoder', () => {
    fc.assert(
      fc.property(encoded, fc.uint8Array({ minLength: 1, maxLength: 9 }), (bytes, more) => {
        expect(refusals(joined(bytes, more))).toBe(decoders.length);
      }),
    );
  });

  it('that differs from a message by some bytes is refused with a MalformedError, or is a message', () => {
    const change = fc.tuple(fc.nat(), fc.oneof(fc.nat({ max: 255 }), fc.integer({ min: 0x80, max: 0xe0 })));
    fc.assert(
      fc.property(encoded, fc.array(change, { minLength: 1, maxLength: 4 }), (bytes, changes) => {
        const changed = Uint8Array.from(bytes);
        for (const [at, value] of changes) changed[at % changed.length] = value;
        refusals(changed);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([...hostileValues])('is refused by every decoder: %s', (_, value) => {
    expect(refusals(value)).toBe(decoders.length);
    expect(refusals(rawTuple(value))).toBe(decoders.length);
    expect(refusals(rawTuple(rawTuple(value)))).toBe(decoders.length);
    for (let type = 0; type < 16; type += 1) {
      const message = rawTuple(Uint8Array.of(type), value, value, value, value, value, value);
      expect(refusals(rawTuple(message))).toBe(decoders.length);
    }
  });

  it('of more messages than a frame may have is refused before they are looked at', () => {
    const frame = (count: number): Uint8Array => {
      const ping = encodeClientFrame([{ type: 'ping', id: 1 }]).subarray(1);
      const [high, low] = [count >> 8, count & 0xff];
      return joined(Uint8Array.of(0xdc, high, low), ...Array.from({ length: count }, () => ping));
    };
    expect(decodeClientFrame(frame(MAX_FRAME_MESSAGES))).toHaveLength(MAX_FRAME_MESSAGES);
    expect(() => decodeClientFrame(frame(MAX_FRAME_MESSAGES + 1))).toThrow(/16385 messages is over 16384; split it/);
  });

  it('has the same outcome every time', () => {
    const outcome = (bytes: Uint8Array): string => {
      try {
        return JSON.stringify(decodeCommand('create', bytes));
      } catch (error) {
        return String(error);
      }
    };
    fc.assert(
      fc.property(encoded, fc.nat(), fc.nat({ max: 255 }), (bytes, at, value) => {
        const changed = Uint8Array.from(bytes);
        changed[at % changed.length] = value;
        expect(outcome(Uint8Array.from(changed))).toBe(outcome(changed));
      }),
    );
  });

  it('as large as a frame may be costs no memory unless it is messages', () => {
    const frames = [0x00, 0x01, 0x80, 0x90, 0x91, 0x9f, 0xa0, 0xc0, 0xc4, 0xdb, 0xdd].map((fill) => {
      const frame = new Uint8Array(MAX_FRAME_BYTES).fill(fill);
      const view = new DataView(frame.buffer);
      view.setUint8(0, 0xdd);
      view.setUint32(1, MAX_FRAME_BYTES - 5);
      return frame;
    });
    const before = process.memoryUsage();
    for (const frame of frames) expect(refusals(frame)).toBe(decoders.length);
    const after = process.memoryUsage();
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(16 * 1024 * 1024);
  });
});
