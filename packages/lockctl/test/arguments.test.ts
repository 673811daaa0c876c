import { describe, expect, it } from 'vitest';

import { parseDuration, parseMode, parseServers, parseSessionId, parseVersion } from '../src/arguments.ts';

describe('a duration', () => {
  it.for([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['0', 0],
    ['0s', 0],
  ] as const)('%s is %i ms', ([text, durationMs]) => {
    expect(parseDuration(text)).toBe(durationMs);
  });

  it.for(['', '10', 's', '-1s', '1 s', '5d', 'abc', '1e3s', '999h99', '9999h'])('%j is refused', (text) => {
    expect(() => parseDuration(text)).toThrow(/A duration is a number with a unit|at most 24 days/);
  });
});

describe('a mode', () => {
  it('is exclusive, read or write, or so many permits', () => {
    expect(['exclusive', 'read', 'write'].map(parseMode)).toEqual([
      { type: 'exclusive' },
      { type: 'read' },
      { type: 'write' },
    ]);
    expect(parseMode('semaphore=1')).toEqual({ type: 'semaphore', permits: 1 });
    expect(parseMode('semaphore=1000000')).toEqual({ type: 'semaphore', permits: 1_000_000 });
  });

  it.for(['', 'Read', 'shared', 'semaphore', 'semaphore=', 'semaphore=-1', 'semaphore=1.5', 'semaphore=x'])(
    '%j is refused',
    (text) => {
      expect(() => parseMode(text)).toThrow('There is no such mode');
    },
  );
});

describe('a list of servers', () => {
  it('is split at commas, spaces and empty places ignored', () => {
    expect(parseServers('a:1, [::1]:7101 ,10.0.0.1:65535,')).toEqual(['a:1', '[::1]:7101', '10.0.0.1:65535']);
  });

  it.for(['', ',', 'host', 'host:', 'host:0', 'host:65536', 'a b:x', '::1:7101'])('%j is refused', (text) => {
    expect(() => parseServers(text)).toThrow(/host:port/);
  });
});

describe('a version and a session id', () => {
  it('are whole numbers', () => {
    expect(parseVersion('0')).toBe(0);
    expect(parseSessionId('17')).toBe(17);
  });

  it.for(['-1', '1.5', 'x', '', '9007199254740993'])('%j is refused', (text) => {
    expect(() => parseVersion(text)).toThrow('whole number');
    expect(() => parseSessionId(text)).toThrow('by its number');
  });
});
