import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { expiredAtMs, expiriesIn } from '../../../src/own/elections/expiry-log.ts';

const line = (time: number, sessionId: number, msg = 'session expired'): string =>
  JSON.stringify({ level: 30, time, server: 1, sessionId, timeoutMs: 2_000, msg });

describe('the end of a session in the logs of servers', () => {
  it('is found by the session, beside other events and lines that are no JSON', () => {
    const log = ['a warning of Node', line(5, 7), line(9, 8), line(3, 8, 'session closed'), ''].join('\n');
    expect(expiriesIn(log, 8)).toEqual([9]);
    expect(expiriesIn(log, 9)).toEqual([]);
  });

  it('is when the first server decided it, and an error when none did', () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-expiry-'));
    try {
      const files = [1, 2].map((server) => join(directory, `server-${server}.log`));
      writeFileSync(files[0] as string, line(1_200, 8));
      writeFileSync(files[1] as string, `${line(1_100, 8)}\n`);
      expect(expiredAtMs(files, 8)).toBe(1_100);
      expect(() => expiredAtMs(files, 80)).toThrow("no server's log says that session 80 expired");
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
