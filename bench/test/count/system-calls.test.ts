import { describe, expect, it } from 'vitest';

import { parseSummary } from '../../src/count/system-calls.ts';

const SUMMARY = `strace: Process 4711 attached with 11 threads
strace: Process 4711 detached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.04    0.123456         120      1024        12 futex
 20.00    0.040000          40       100           pwrite64
 10.00    0.020000          20        50           epoll_pwait
  0.00    0.000000           0         3           fdatasync
------ ----------- ----------- --------- --------- ----------------
100.00    0.183456         100      1177        12 total
`;

describe("strace's summary", () => {
  it('is read name by name, with and without errors, and without its total', () => {
    const { total, byName } = parseSummary(SUMMARY);
    expect([...byName]).toEqual([
      ['futex', 1_024],
      ['pwrite64', 100],
      ['epoll_pwait', 50],
      ['fdatasync', 3],
    ]);
    expect(total).toBe(1_177);
  });

  it('tells durable writes from the rest', () => {
    expect(parseSummary(SUMMARY).durableWrites).toBe(103);
  });
});
