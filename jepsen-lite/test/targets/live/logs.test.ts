import { describe, expect, it } from 'vitest';
import { isUnforeseen } from '../../../src/targets/live/processes/logs.ts';

describe('a line of a server that fails a run', () => {
  it.each([
    ['an error', '{"level":50,"msg":"the disk failed"}'],
    ['a fatal error', '{"level":60,"msg":"lockd stops"}'],
    ['an exception that nobody caught', 'TypeError: x is not a function'],
    ['what Node.js says when it dies', 'Node.js v20.20.2'],
  ])('is %s', (_what, line) => {
    expect(isUnforeseen(line, { diskTrouble: false, damaged: false })).toBe(true);
  });

  it.each([
    ['a warning', '{"level":40,"msg":"a peer is not heard any more"}'],
    ['what it prints when it serves', 'lockd 1 serves clients at 10.1.2.3:7100, peers at 10.1.2.3:7200'],
    ['a line that a kill has cut short', '{"level":50,"msg":"th'],
    ['nothing', ''],
  ])('is not %s', (_what, line) => {
    expect(isUnforeseen(line, { diskTrouble: false, damaged: false })).toBe(false);
  });
});

describe('a server whose disk was struck', () => {
  it('may say so, and nothing else', () => {
    const struck = { diskTrouble: true, damaged: false };
    const says = (msg: string): boolean => isUnforeseen(JSON.stringify({ level: 60, msg }), struck);
    expect(says('lockd stops: EIO: i/o error, write')).toBe(false);
    expect(says('lockd stops: broken invariant')).toBe(true);
  });
});

describe('a server whose disk was slow or hung', () => {
  it('may say that it hangs, but not that it failed', () => {
    const struck = { diskTrouble: false, diskWaits: true, damaged: false };
    const says = (msg: string, faults = struck): boolean => isUnforeseen(JSON.stringify({ level: 50, msg }), faults);
    const hangs = 'the disk hangs: no write of the log has ended for an election timeout';
    expect(says(hangs)).toBe(false);
    expect(says(hangs, { ...struck, diskWaits: false })).toBe(true);
    expect(says('lockd stops: EIO: i/o error, write')).toBe(true);
  });
});

describe('a server whose log was damaged', () => {
  it('may say so, and nothing else', () => {
    const struck = { diskTrouble: false, damaged: true };
    const says = (msg: string): boolean => isUnforeseen(JSON.stringify({ level: 50, msg }), struck);
    expect(says('wal-1.wal is damaged at offset 512: a checksum does not fit')).toBe(false);
    expect(says('lockd stops: EIO: i/o error, write')).toBe(true);
  });
});
