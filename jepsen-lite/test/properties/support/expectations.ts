/** What random scripts must come across, so that no promise is kept for want of an occasion: counts per 1,000 runs of 200 commands. */

import type { Coverage } from '../../../src/properties/coverage.ts';

const EXPECTED: Coverage = {
  'a wait: granted later': 2_000,
  'an entry: granted several locks': 60,
  'a hold or wait: revoked': 1_000,
  'a session: ended with holds': 1_000,
  'a session: ended with waits': 500,
  'a session: ended with nodes': 300,
  'a request: refused as a gap': 2_000,
  'a request: refused as a stale copy': 2_000,
  'a request: refused SESSION_MOVED': 2_000,
  'a request: refused SESSION_EXPIRED': 1_000,
  'a request: refused OVERLOADED': 300,
  'acquire: holds': 5_000,
  'acquire: waits': 5_000,
  'acquire: lockHeld': 2_000,
  'acquire: LIMIT_EXCEEDED': 1_000,
  'acquire: INVALID_ARGUMENT': 300,
  'acquire again: holds': 500,
  'acquire again: waits': 500,
  'acquire again: NOT_HELD': 500,
  'malformed acquire: INVALID_ARGUMENT': 300,
  'refuse: DISK_FULL': 700,
  'create again: DISK_FULL': 10,
  'release: done': 3_000,
  'release: NOT_HELD': 3_000,
  'release again: done': 200,
  'cancel: cancelled': 1_500,
  'cancel: NOT_HELD': 1_500,
  'cancel again: cancelled': 100,
  'attach: began a session': 3_000,
  'attach: found its session': 5_000,
  'attach: SESSION_EXPIRED': 700,
  'attach: LIMIT_EXCEEDED': 60,
  'closeSession: done': 1_000,
  'closeSession: NOT_FOUND': 40,
  'expireSession: ended a session': 1_000,
  'expireSession: without effect': 1_500,
  'continueEnd: ended a session': 40,
  'continueEnd: removed some, or nothing': 500,
  'create: created': 2_000,
  'create: NODE_EXISTS': 1_000,
  'create: NOT_FOUND': 1_000,
  'create: EPHEMERAL_PARENT': 400,
  'create: RESERVED_PATH': 400,
  'create: LIMIT_EXCEEDED': 60,
  'create again: created': 200,
  'set: changed': 1_000,
  'set: BAD_VERSION': 200,
  'set: RESERVED_PATH': 300,
  'delete: done': 2_000,
  'delete: NOT_EMPTY': 100,
  'delete: RESERVED_PATH': 60,
  'unsupported entry: refused': 700,
  'noop: applied': 700,
  'an unknown command: UNSUPPORTED': 150,
  'raiseStateVersion: applied': 300,
  'raiseStateVersion: malformed': 30,
};

/** What came up less often than it must: one line each. */
export function shortfalls(coverage: Coverage, runs: number): string[] {
  return Object.entries(EXPECTED)
    .map(([what, least]) => ({
      what,
      least: Math.max(1, Math.floor((least * runs) / 1_000)),
      seen: coverage[what] ?? 0,
    }))
    .filter(({ least, seen }) => seen < least)
    .map(({ what, least, seen }) => `${what}: ${seen} times, at least ${least} expected`);
}
