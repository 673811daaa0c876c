/** What both ends of a WebSocket agree on. */

export function wsOptions(maxFrameBytes: number) {
  return {
    maxPayload: maxFrameBytes,
    // Frames are small, binary and dense; compressing them costs more than it saves.
    perMessageDeflate: false,
    // Text frames are refused whatever is in them.
    skipUTF8Validation: true,
    /** How long an end that has asked to close waits for the other one's answer. */
    closeTimeout: 2_000,
  };
}
