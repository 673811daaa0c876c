import { MalformedError, pack } from '@holdfast/protocol';
import { valuesOf } from '@holdfast/protocol/test/arbitrary-of';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeConfiguration, initialConfiguration, serverId } from '../../src/core/index.ts';
import { decodeSnapshotMessage, encodeSnapshotMessage, snapshotMessages } from '../../src/snapshots/snapshot-codec.ts';

const configuration = fc.nat({ max: 5 }).map((count) => {
  const members = Array.from({ length: count }, (_, n) => ({ id: serverId(n + 1), peerAddress: `127.0.0.1:${n}` }));
  return encodeConfiguration(initialConfiguration(members));
});
const message = valuesOf(snapshotMessages, { configuration });

describe('a message of the connection for a snapshot', () => {
  it('arrives as it was sent, within its byte bound', () => {
    const property = fc.property(message, (sent) => {
      const frame = encodeSnapshotMessage(sent);
      expect(decodeSnapshotMessage(Uint8Array.from(frame))).toEqual(sent);
      expect(frame.length).toBeLessThanOrEqual(snapshotMessages.size(sent));
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('is refused with a MalformedError when it ends too early', () => {
    const property = fc.property(message, fc.nat(), (sent, at) => {
      const frame = encodeSnapshotMessage(sent);
      expect(() => decodeSnapshotMessage(frame.subarray(0, at % frame.length))).toThrow(MalformedError);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('is refused with a MalformedError, or is a message, when some bytes of it are others', () => {
    const property = fc.property(message, fc.nat(), fc.nat({ max: 255 }), (sent, at, byte) => {
      const changed = Uint8Array.from(encodeSnapshotMessage(sent));
      changed[at % changed.length] = byte;
      try {
        decodeSnapshotMessage(changed);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedError);
      }
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  it('is refused when it offers a configuration that cannot be read, or is of an unknown type', () => {
    const offer = [1, 3, 0, 7, 3, 100, 5, new Uint8Array([9, 9])];
    expect(() => decodeSnapshotMessage(pack(offer))).toThrow(MalformedError);
    expect(() => decodeSnapshotMessage(pack([8, 1]))).toThrow('snapshot message type 8 is unknown');
  });

  it('says why it refuses in 300 characters at most', () => {
    const reason = 'x'.repeat(301);
    expect(decodeSnapshotMessage(encodeSnapshotMessage({ type: 'refused', reason }))).toEqual({
      type: 'refused',
      reason: 'x'.repeat(300),
    });
  });
});
