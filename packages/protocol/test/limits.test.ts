import { describe, expect, it } from 'vitest';

import * as limits from '../src/limits.ts';
import { CreateMode, encodeClientFrame, encodeCommand, encodeServerFrame } from '../src/index.ts';

describe('limits', () => {
  it('leave room for the largest node with the longest path, in a frame of either direction', () => {
    const data = new Uint8Array(limits.MAX_DATA_BYTES);
    const path = '/'.padEnd(limits.MAX_PATH_LENGTH, '中');
    const payload = encodeCommand({ type: 'create', path, data, mode: CreateMode.ephemeralSequential });
    const max = Number.MAX_SAFE_INTEGER;
    const request = encodeClientFrame([{ type: 'request', number: max, ackedUpTo: max, command: 3, payload }]);
    expect(request.length).toBeLessThan(limits.MAX_FRAME_BYTES);
    const text = '中'.repeat(limits.MAX_MESSAGE_LENGTH);
    const error = { type: 'error', code: 'LIMIT_EXCEEDED', message: text } as const;
    const reply = encodeServerFrame([{ type: 'reply', number: max, index: max, reply: error }]);
    expect(reply.length).toBeLessThan(limits.MAX_FRAME_BYTES);
  });

  it('let an SDK stay below half of the replies that are remembered', () => {
    expect(limits.MAX_REQUESTS_IN_FLIGHT * 2).toBeLessThanOrEqual(limits.MAX_REMEMBERED_REPLIES);
  });

  it('print every token in so many digits', () => {
    expect(String(limits.MAX_INDEX)).toHaveLength(limits.TOKEN_TEXT_DIGITS);
  });

  it('have a default session timeout that is allowed', () => {
    expect(limits.DEFAULT_SESSION_TIMEOUT_MS).toBeGreaterThanOrEqual(limits.MIN_SESSION_TIMEOUT_MS);
    expect(limits.DEFAULT_SESSION_TIMEOUT_MS).toBeLessThanOrEqual(limits.MAX_SESSION_TIMEOUT_MS);
  });
});
