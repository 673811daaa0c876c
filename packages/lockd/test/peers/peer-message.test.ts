import { MalformedError, pack } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { decodePeerMessages, encodePeerMessages, type PeerMessage } from '../../src/peers/peer-message.ts';

const EVERY: readonly PeerMessage[] = [
  { type: 'forward', epoch: 3, entries: [new Uint8Array([1, 2, 3]), new Uint8Array()] },
  { type: 'forward-refused', epoch: 3, code: 'OVERLOADED' },
  { type: 'keep-alive', batch: 4, sessions: [7, 2 ** 50] },
  { type: 'keep-alive-ack', batch: 4, except: [7] },
  { type: 'read-index', batch: 5 },
  { type: 'read-index-answer', batch: 5, index: 99 },
  { type: 'state-digest', index: 1_024, digest: 123_456_789 },
  { type: 'diverged', index: 1_024, digest: 5 },
  { type: 'halted', index: 2_048 },
  { type: 'lost' },
  { type: 'disk-report', low: true },
  { type: 'disk-shortage', server: 3 },
  { type: 'admin', request: 4, operation: { type: 'transfer', server: 2 } },
  { type: 'admin-answer', request: 4, answer: { type: 'transferred', server: 2 } },
  { type: 'admin-answer', request: 5, answer: { type: 'error', code: 'TRANSFER_REFUSED', message: 'no' } },
  { type: 'admin', request: 6, operation: { type: 'members', local: false } },
  {
    type: 'admin',
    request: 7,
    operation: {
      type: 'change-membership',
      change: { type: 'add', server: 4, peerAddress: 'h:1', observer: true, joinSecret: 's' },
    },
  },
  {
    type: 'admin-answer',
    request: 7,
    answer: {
      type: 'members',
      leader: 1,
      members: [{ server: 4, role: 'observer', peerAddress: 'h:1', clientAddress: '', connected: false }],
      index: 90,
    },
  },
];

describe('messages between servers', () => {
  it('arrive as they were sent', () => {
    const plain = decodePeerMessages(encodePeerMessages(EVERY)).map((message) =>
      message.type === 'forward'
        ? { ...message, entries: message.entries.map((entry) => new Uint8Array(entry)) }
        : message,
    );
    expect(plain).toEqual(EVERY);
  });

  it('are left out when a newer server sends a type that this one does not know', () => {
    expect(decodePeerMessages(pack([[200, 'news'], [10]]))).toEqual([{ type: 'lost' }]);
  });

  it('are refused when a field is not what it must be', () => {
    expect(() => decodePeerMessages(pack([[3, 1, ['seven']]]))).toThrow(MalformedError);
    expect(() => decodePeerMessages(pack(17))).toThrow(MalformedError);
    expect(() => decodePeerMessages(new Uint8Array([0xc1]))).toThrow(MalformedError);
  });
});
