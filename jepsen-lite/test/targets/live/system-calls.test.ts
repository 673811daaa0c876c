import { describe, expect, it } from 'vitest';
import { isStruckByFreeze, parseSystemCall } from '../../../src/targets/live/disks/kernel/system-calls.ts';

describe('the system call that a thread is in', () => {
  it('is a write of so many bytes at a position, out of its registers', () => {
    const line = '18 0x12 0x1172c3a0 0xbb8 0x2ee00 0x0 0xffffffff 0x7f4485736c80 0x7f44888344c7\n';
    expect(parseSystemCall(line, 'x64')).toEqual({
      descriptor: 18,
      address: 0x1172c3a0n,
      length: 3_000,
      position: 192_000,
      vectored: false,
    });
  });

  it('is a write of several buffers', () => {
    expect(parseSystemCall('296 0x5 0x10 0x2 0x1000 0x0 0x0 0x0 0x0', 'x64')).toMatchObject({
      vectored: true,
      length: 2,
    });
    expect(parseSystemCall('70 0x5 0x10 0x2 0x1000 0x0 0x0 0x0 0x0', 'arm64')).toMatchObject({ vectored: true });
  });

  it.each(['running', '', '0 0x5 0x10 0x2 0x1000 0x0 0x0 0x0 0x0', '-1 0x7ffd 0x7f44'])('is no write: %s', (line) => {
    expect(parseSystemCall(line, 'x64')).toBeUndefined();
  });

  it('is not known on other processors', () => {
    expect(parseSystemCall('18 0x12 0x1172c3a0 0xbb8 0x2ee00 0x0 0x0 0x0 0x0', 'mips')).toBeUndefined();
  });
});

describe('what a thread waits for', () => {
  it.each([
    ['percpu_rwsem_wait', true],
    ['__percpu_down_read', true],
    ['futex_do_wait', false],
    ['io_schedule', false],
    ['0', false],
  ])('%s is the end of a freeze: %s', (channel, struck) => {
    expect(isStruckByFreeze(channel)).toBe(struck);
  });
});
