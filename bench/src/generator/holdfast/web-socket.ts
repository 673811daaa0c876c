/** The client's side of RFC 6455 on a bare socket, as much of it as the generator needs: binary frames, masked like every client's. */

import { randomBytes } from 'node:crypto';

const BINARY = 0x82;
const OPCODE_MASK = 0x0f;
const MASKED = 0x80;
const SHORT_LENGTH = 126;
const LONG_LENGTH = 127;
const HEADER_END = '\r\n\r\n';

/** One mask a connection: servers unmask every frame all the same, and random bytes for each would measure the generator. */
export function randomMask(): Uint8Array {
  const mask = randomBytes(4);
  mask[0] = (mask[0] ?? 0) | 1;
  return mask;
}

export function upgradeRequest(address: string): Buffer {
  return Buffer.from(
    `GET / HTTP/1.1\r\nHost: ${address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
}

/** The length of the response's head, 0 while it is not whole. @throws Error when the server does not upgrade. */
export function upgradeHead(bytes: Buffer): number {
  const end = bytes.indexOf(HEADER_END);
  if (end < 0) return 0;
  const head = bytes.toString('latin1', 0, end);
  if (!head.startsWith('HTTP/1.1 101')) throw new Error(`the server refused the WebSocket: ${head.split('\r\n')[0]}`);
  return end + HEADER_END.length;
}

export function maskedFrame(payload: Uint8Array, mask: Uint8Array): Buffer {
  const { length } = payload;
  const lengthBytes = length < SHORT_LENGTH ? 0 : length < 65_536 ? 2 : 8;
  const start = 2 + lengthBytes + mask.length;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = BINARY;
  if (lengthBytes === 0) frame[1] = MASKED | length;
  else if (lengthBytes === 2) {
    frame[1] = MASKED | SHORT_LENGTH;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = MASKED | LONG_LENGTH;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.set(mask, start - mask.length);
  for (let position = 0; position < length; position += 1) {
    frame[start + position] = (payload[position] ?? 0) ^ (mask[position & 3] ?? 0);
  }
  return frame;
}

export interface FrameHead {
  readonly opcode: number;
  readonly start: number;
  readonly end: number;
}

/** Where the payload of the server's frame at `at` lies; undefined while the frame is not whole. */
export function frameAt(bytes: Buffer, at: number): FrameHead | undefined {
  if (bytes.length - at < 2) return undefined;
  const opcode = (bytes[at] ?? 0) & OPCODE_MASK;
  let length = (bytes[at + 1] ?? 0) & 0x7f;
  let start = at + 2;
  if (length === SHORT_LENGTH) {
    if (bytes.length - start < 2) return undefined;
    length = bytes.readUInt16BE(start);
    start += 2;
  } else if (length === LONG_LENGTH) {
    if (bytes.length - start < 8) return undefined;
    length = Number(bytes.readBigUInt64BE(start));
    start += 8;
  }
  const end = start + length;
  return end > bytes.length ? undefined : { opcode, start, end };
}
