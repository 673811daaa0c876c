import { describe, expect, it } from 'vitest';

import type { Message } from '../../../src/replication/core/index.ts';
import {
  decodeMessage,
  encodeMessage,
  FrameError,
  MAX_FRAME_BYTES,
} from '../../../src/replication/wire/message-codec.ts';

const CHUNK = Uint8Array.of(1, 2, 3);
const MESSAGES: readonly Message[] = [
  { type: 'install', epoch: 57 },
  { type: 'installed', epoch: 57, lastIndex: 3, copy: 0, cursor: undefined },
  { type: 'installed', epoch: 57, lastIndex: 0, copy: 2, cursor: '' },
  {
    type: 'append',
    epoch: 57,
    copy: 0,
    prevIndex: 6,
    prevEpoch: 41,
    commit: 6,
    entries: [
      { index: 7, epoch: 41, payload: CHUNK },
      { index: 8, epoch: 57, payload: undefined },
      { index: 9, epoch: 57, payload: new Uint8Array(0) },
    ],
  },
  { type: 'appended', epoch: 57, copy: 1, index: 9 },
  { type: 'mismatch', epoch: 57, prevIndex: 9, tryAfter: 8 },
  {
    type: 'copy',
    epoch: 57,
    copy: 1,
    base: { index: 6, epoch: 41 },
    part: { from: '', to: '02', last: false, chunk: CHUNK },
  },
  { type: 'copied', epoch: 57, copy: 1, cursor: '02' },
  { type: 'confirm', epoch: 57, round: 4 },
  { type: 'confirmed', epoch: 57, round: 4 },
  { type: 'refused', epoch: 41, installed: 57 },
];

function frame(head: unknown, ...rest: number[]): Uint8Array {
  const text = new TextEncoder().encode(typeof head === 'string' ? head : JSON.stringify(head));
  return Uint8Array.from([0, 0, 0, text.length, ...text, ...rest]);
}

describe('a message between replicas', () => {
  it.each(MESSAGES)('is the same when it has come: $type', (message) => {
    expect(decodeMessage(encodeMessage(message))).toEqual(message);
  });

  it('is not a view of what it was taken from', () => {
    const bytes = encodeMessage({
      type: 'append',
      epoch: 1,
      copy: 0,
      prevIndex: 0,
      prevEpoch: 0,
      commit: 0,
      entries: [],
    });
    const sent = encodeMessage(MESSAGES[3] ?? { type: 'install', epoch: 1 });
    const received = decodeMessage(sent);
    sent.fill(0);
    bytes.fill(0);
    expect(received).toEqual(MESSAGES[3]);
  });
});

describe('a frame that is no message', () => {
  const copy = { type: 'copy', epoch: 1, copy: 1, base: { index: 0, epoch: 0 } };
  it.each([
    ['is empty', new Uint8Array(0)],
    ['is shorter than its head', Uint8Array.of(0, 0, 1, 0, 123)],
    ['has no JSON', frame('{')],
    ['has a list for a head', frame([])],
    ['has an unknown type', frame({ type: 'hello', epoch: 1 })],
    ['lacks its epoch', frame({ type: 'install' })],
    ['has an epoch below 0', frame({ type: 'install', epoch: -1 })],
    ['has an epoch that is not exact', frame({ type: 'install', epoch: 2 ** 53 })],
    ['has an epoch that is a text', frame({ type: 'install', epoch: '57' })],
    ['has bytes behind its end', frame({ type: 'install', epoch: 1 }, 0)],
    [
      'has an entry without bytes',
      frame({ type: 'append', epoch: 1, copy: 0, prevIndex: 0, prevEpoch: 0, commit: 0, entries: [[1, 5]] }),
    ],
    [
      'has an entry of another shape',
      frame({ type: 'append', epoch: 1, copy: 0, prevIndex: 0, prevEpoch: 0, commit: 0, entries: [7] }),
    ],
    ['has a part that leads nowhere', frame({ ...copy, part: { from: '02', to: '02', last: false, bytes: 0 } })],
    ['has a part without its end', frame({ ...copy, part: { from: '', to: '02', bytes: 0 } })],
    ['is too long', new Uint8Array(MAX_FRAME_BYTES + 1)],
  ])('is refused when it %s', (_, bytes) => {
    expect(() => decodeMessage(bytes)).toThrow(FrameError);
  });
});
