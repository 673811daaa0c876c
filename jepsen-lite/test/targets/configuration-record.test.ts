import { describe, expect, it } from 'vitest';

import type { AppliedWrite } from '../../src/targets/applied-write.ts';
import { ConfigurationRecord } from '../../src/targets/configuration-record.ts';

const PATH = '/fenced-kv/orders/configuration';

function write(
  index: number,
  number: number,
  inSync: readonly string[],
  more: Partial<AppliedWrite> = {},
): AppliedWrite {
  const value = JSON.stringify({ format: 1, epoch: 7, primary: inSync[0], inSync });
  return { index, f: 'set', path: PATH, session: 3, number, value, refused: undefined, ...more };
}

describe('the record of configurations', () => {
  it('counts the versions of each group by the writes that took effect', () => {
    const record = new ConfigurationRecord();
    const others = { path: '/fenced-kv/others/configuration' };
    expect(record.madeBy(write(10, 1, ['r1', 'r2']))).toMatchObject({ group: 'orders', version: 0, index: 10 });
    expect(record.madeBy(write(11, 2, ['r1']))).toMatchObject({ group: 'orders', version: 1, inSync: ['r1'] });
    expect(record.madeBy(write(12, 3, ['r2'], others))).toMatchObject({ group: 'others', version: 0 });
    expect(record.madeBy(write(13, 4, ['r2'], { refused: 'BAD_VERSION' }))).toBeUndefined();
    expect(record.madeBy(write(14, 5, ['r2'], { path: '/elsewhere' }))).toBeUndefined();
    expect(record.madeBy(write(15, 6, ['r1', 'r2']))).toMatchObject({ version: 2 });
  });

  it('counts a request once that came again', () => {
    const record = new ConfigurationRecord();
    record.madeBy(write(10, 1, ['r1', 'r2']));
    expect(record.madeBy(write(14, 1, ['r1', 'r2']))).toBeUndefined();
    expect(record.madeBy(write(15, 1, ['r1'], { session: 4 }))).toMatchObject({ version: 1 });
  });
});
