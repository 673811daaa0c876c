/**
 * A whole binary WebSocket frame (RFC 6455, section 5.2: in one piece), header and payload in one buffer. ws writes the two apart, which
 * costs streams twice the work and the system a writev instead of a write.
 */

/** Longer ones are not copied: the copy would cost more than it saves. */
export const MAX_COPIED_FRAME_BYTES = 16 * 1_024;

const FINAL_BINARY = 0x82;
const MASKED = 0x80;
const MASK_BYTES = 4;
/** Longest payload whose length is in the second byte; the next longer ones have it in two bytes more. */
const MAX_SHORT_BYTES = 125;
const LENGTH_IN_TWO_BYTES = 126;

/** As a server sends it: unmasked. For payloads of at most {@link MAX_COPIED_FRAME_BYTES}. */
export function serverFrame(payload: Uint8Array): Buffer {
  const { length } = payload;
  const headerBytes = length <= MAX_SHORT_BYTES ? 2 : 4;
  const frame = Buffer.allocUnsafe(headerBytes + length);
  writeHead(frame, length, 0);
  frame.set(payload, headerBytes);
  return frame;
}

/**
 * As a client sends it: masked, as the protocol demands, with the key 0, under which the bytes stay what they are. Keys are random so that a
 * page whose script chooses the bytes cannot have a browser write what a proxy takes for HTTP; here the program that chooses them could as
 * well write to the socket itself. For payloads of at most {@link MAX_COPIED_FRAME_BYTES}.
 */
export function clientFrame(payload: Uint8Array): Buffer {
  const { length } = payload;
  const headerBytes = (length <= MAX_SHORT_BYTES ? 2 : 4) + MASK_BYTES;
  const frame = Buffer.allocUnsafe(headerBytes + length);
  writeHead(frame, length, MASKED);
  frame.writeUInt32BE(0, headerBytes - MASK_BYTES);
  frame.set(payload, headerBytes);
  return frame;
}

function writeHead(frame: Buffer, length: number, masked: number): void {
  frame[0] = FINAL_BINARY;
  if (length <= MAX_SHORT_BYTES) {
    frame[1] = masked | length;
  } else {
    frame[1] = masked | LENGTH_IN_TWO_BYTES;
    frame.writeUInt16BE(length, 2);
  }
}
