import { describe, expect, it } from 'vitest';
import { MAX_SESSIONS_PER_ADDRESS } from '../../src/limits.ts';
import { AddressSessions } from '../../src/sessions/address-sessions.ts';

const HERE = '192.0.2.1:4711';
const PORT = '192.0.2.1:4712';
const ELSEWHERE = '192.0.2.2:4711';

describe('sessions of one address', () => {
  it('are refused beyond the bound, whatever their ports, and those of others are not', () => {
    const addresses = new AddressSessions(undefined);
    for (let session = 1; session <= MAX_SESSIONS_PER_ADDRESS; session += 1) addresses.created(session, HERE);
    expect(addresses.refusal(PORT)).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('192.0.2.1 has made 10000 sessions at this server, at most 10000'),
    });
    expect(addresses.refusal(ELSEWHERE)).toBeUndefined();
  });

  it('count until they have ended or are attached elsewhere, not until their client hangs up', () => {
    const addresses = new AddressSessions(2);
    for (const session of [1, 2]) addresses.created(session, HERE);
    addresses.gone(3);
    expect(addresses.refusal(HERE)).toBeDefined();
    addresses.gone(1);
    addresses.gone(1);
    expect(addresses.refusal(HERE)).toBeUndefined();
    addresses.created(4, HERE);
    expect(addresses.refusal(HERE)).toBeDefined();
    addresses.keep((session) => session === 4);
    expect(addresses.refusal(HERE)).toBeUndefined();
  });

  it('count no longer when the last of them has ended', () => {
    const addresses = new AddressSessions(1);
    for (let session = 1; session <= 3; session += 1) {
      expect(addresses.refusal(HERE)).toBeUndefined();
      addresses.created(session, HERE);
      expect(addresses.refusal(HERE)).toBeDefined();
      addresses.gone(session);
    }
  });

  it('of this machine are not bounded unless a setting says so', () => {
    const local = '127.0.0.1:4711';
    for (const [max, refused] of [
      [undefined, false],
      [1, true],
    ] as const) {
      const addresses = new AddressSessions(max);
      for (let session = 1; session <= MAX_SESSIONS_PER_ADDRESS; session += 1) addresses.created(session, local);
      expect(addresses.refusal(local) !== undefined).toBe(refused);
    }
  });
});
