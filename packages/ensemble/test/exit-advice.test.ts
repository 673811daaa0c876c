import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, describe, it } from 'vitest';

import { exitAdvice, logTail } from '../src/exit-advice.ts';

describe('what is said of a server that ended', () => {
  it('is what its exit code means and what to do', () => {
    expect(exitAdvice({ code: 64, signal: null })).toBe(
      'exit code 64: its port is in use; stop what listens there, or choose another --base-port',
    );
    expect(exitAdvice({ code: 1, signal: null })).toBe('exit code 1');
    expect(exitAdvice({ code: null, signal: 'SIGKILL' })).toBe('SIGKILL');
    expect(exitAdvice({ code: null, signal: null })).toBe('could not be started');
  });

  it('includes the end of its log', () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-log-'));
    try {
      const file = join(directory, 'x.log');
      expect(logTail(file)).toBe('');
      writeFileSync(file, '1\n2\n3\n4\n5\n6\n');
      expect(logTail(file)).toBe('    2\n    3\n    4\n    5\n    6');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
