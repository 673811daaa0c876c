import { describe, expect, it } from 'vitest';

import { ERROR_CODES, errorCodeFromWire, errorCodeToWire, type ErrorCode } from '../src/index.ts';

/** What has been released: number, retryable, indeterminate. New codes are added below; a line never changes. */
const RELEASED: Record<ErrorCode, readonly [number, boolean, boolean]> = {
  NOT_FOUND: [1, false, false],
  NODE_EXISTS: [2, false, false],
  BAD_VERSION: [3, false, false],
  NOT_EMPTY: [4, false, false],
  EPHEMERAL_PARENT: [5, false, false],
  INVALID_ARGUMENT: [6, false, false],
  LIMIT_EXCEEDED: [7, false, false],
  RESERVED_PATH: [8, false, false],
  LOCK_HELD: [9, true, false],
  NOT_HELD: [10, false, false],
  SESSION_EXPIRED: [11, false, false],
  SESSION_MOVED: [12, false, false],
  OUT_OF_ORDER: [13, true, false],
  OVERLOADED: [14, true, false],
  NO_LEADER: [15, true, false],
  LEADER_CHANGED: [16, true, true],
  NOT_CAUGHT_UP: [17, true, false],
  MALFORMED: [18, false, false],
  VERSION_MISMATCH: [19, false, false],
  WRONG_CLUSTER: [20, false, false],
  UNAUTHORIZED: [21, false, false],
  SHUTTING_DOWN: [22, true, false],
  UNSUPPORTED: [23, false, false],
  DISK_FULL: [24, true, false],
  TRANSFER_REFUSED: [25, true, false],
  MEMBERSHIP_REFUSED: [26, true, false],
  MEMBER_EXISTS: [27, false, false],
  DEADLOCK: [28, true, false],
};

describe('error codes', () => {
  it('keep their numbers and what they promise', () => {
    const present = Object.entries(ERROR_CODES).map(([name, code]) => [
      name,
      [code.wire, code.retryable, code.indeterminate],
    ]);
    expect(Object.fromEntries(present)).toEqual(RELEASED);
  });

  it('have one number each, there and back', () => {
    const codes = Object.keys(ERROR_CODES) as ErrorCode[];
    expect(new Set(codes.map(errorCodeToWire)).size).toBe(codes.length);
    for (const code of codes) expect(errorCodeFromWire(errorCodeToWire(code))).toBe(code);
  });

  it('are unknown by any other number', () => {
    for (const wire of [0, 29, 1_000, -1, 1.5, NaN]) expect(errorCodeFromWire(wire)).toBeUndefined();
  });

  it('promise that an indeterminate request may be tried again', () => {
    for (const code of Object.values(ERROR_CODES)) expect(code.retryable || !code.indeterminate).toBe(true);
  });
});
