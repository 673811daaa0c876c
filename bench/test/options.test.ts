import { describe, expect, it } from 'vitest';

import { FENCES } from '../src/fences/plans.ts';
import { parseOptions } from '../src/options.ts';

const parse = async (...args: readonly string[]): ReturnType<typeof parseOptions> =>
  await parseOptions(['node', 'bench', ...args]);

describe('the command line of bench', () => {
  it('takes works by their names, as with --only', async () => {
    expect((await parse('fences')).only).toEqual(['fences']);
    expect((await parse('--', 'sdk', 'waiters,fences')).only).toEqual(['sdk', 'waiters', 'fences']);
    expect((await parse('fences', '--only', 'sdk')).only).toEqual(['fences', 'sdk']);
  });

  it('measures by default what takes no long time, fences not among it', async () => {
    const { only } = await parse();
    expect(only).toContain('cycles');
    expect(only).not.toContain('fences');
  });

  it('measures in as many windows as are planned, or as it is told', async () => {
    expect((await parse()).windows).toBeUndefined();
    expect((await parse('--quick', '--windows', '1')).windows).toBe(1);
  });

  it('takes all fences, or those that are named', async () => {
    expect((await parse('fences')).fences).toEqual(FENCES);
    expect((await parse('fences', '--fences', 'redis,files')).fences).toEqual(['redis', 'files']);
  });
});
