import { describe, expect, it } from 'vitest';

import { frameAt, maskedFrame, upgradeHead } from '../../src/generator/holdfast/web-socket.ts';

/** What a server's parser does with a client's frame. */
function unmask(frame: Buffer, headBytes: number): Buffer {
  const mask = frame.subarray(headBytes, headBytes + 4);
  return Buffer.from(frame.subarray(headBytes + 4).map((byte, position) => byte ^ (mask[position % 4] ?? 0)));
}

describe("a client's frame", () => {
  it.each([
    [0, 2],
    [125, 2],
    [126, 4],
    [65_535, 4],
    [65_536, 10],
  ])('of %i bytes has a head of %i, and its payload is masked', (length, headBytes) => {
    const payload = Buffer.alloc(length, 'holdfast');
    const frame = maskedFrame(payload, Buffer.from([1, 2, 3, 4]));
    expect(frame[0]).toBe(0x82);
    expect((frame[1] ?? 0) & 0x80).toBe(0x80);
    expect(unmask(frame, headBytes).equals(payload)).toBe(true);
  });
});

describe("a server's frame", () => {
  it('is found when it is whole, and not before', () => {
    const payload = Buffer.alloc(300, 1);
    const frame = Buffer.concat([Buffer.from([0x82, 126, 1, 44]), payload]);
    for (const length of [0, 1, 3, frame.length - 1]) expect(frameAt(frame.subarray(0, length), 0)).toBeUndefined();
    expect(frameAt(frame, 0)).toEqual({ opcode: 2, start: 4, end: 304 });
  });
});

describe('the upgrade', () => {
  it('ends where the head does, and is refused with the status line', () => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n';
    expect(upgradeHead(Buffer.from(`${head}more`))).toBe(head.length);
    expect(upgradeHead(Buffer.from('HTTP/1.1 101'))).toBe(0);
    expect(() => upgradeHead(Buffer.from('HTTP/1.1 403 Forbidden\r\n\r\n'))).toThrow('HTTP/1.1 403 Forbidden');
  });
});
