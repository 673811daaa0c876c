/**
 * A whole binary WebSocket frame as a server sends it (RFC 6455, section 5.2: unmasked, in one piece), header and payload in one
 * buffer. ws writes the two apart, which costs streams twice the work and the system a writev instead of a write.
 */

/** Longer ones are not copied: the copy would cost more than it saves. */
export const MAX_COPIED_FRAME_BYTES = 16 * 1_024;

const FINAL_BINARY = 0x82;
/** Longest payload whose length is in the second byte; the next longer ones have it in two bytes more. */
const MAX_SHORT_BYTES = 125;
const LENGTH_IN_TWO_BYTES = 126;

/** For payloads of at most {@link MAX_COPIED_FRAME_BYTES}. */
export function serverFrame(payload: Uint8Array): Buffer {
  const { length } = payload;
  const headerBytes = length <= MAX_SHORT_BYTES ? 2 : 4;
  const frame = Buffer.allocUnsafe(headerBytes + length);
  frame[0] = FINAL_BINARY;
  if (headerBytes === 2) {
    frame[1] = length;
  } else {
    frame[1] = LENGTH_IN_TWO_BYTES;
    frame.writeUInt16BE(length, 2);
  }
  frame.set(payload, headerBytes);
  return frame;
}
