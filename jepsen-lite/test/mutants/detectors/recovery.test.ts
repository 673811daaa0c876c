import { beforeAll, describe, expect, it } from 'vitest';

import { judge, recovery } from '../../../src/mutants/detectors/recovery.ts';
import { loseMajority, type LostMajorityRun } from '../../../src/targets/sim/lost-majority.ts';

describe('a recovery from a lost majority', () => {
  let run: LostMajorityRun;
  beforeAll(async () => {
    run = await loseMajority(1);
  });

  it('is found to be right, as the product does it', async () => {
    expect(judge(run)).toBeUndefined();
    expect((await recovery(2)).failure).toBeUndefined();
  });

  it('is found out when a session lives through it', () => {
    expect(judge({ ...run, sessionsKept: 1 })).toMatchObject({ name: 'a-recovery-ends-every-session' });
  });

  it('is found out when a token is not above all that the old servers came to', () => {
    expect(judge({ ...run, oldIndex: Number.MAX_SAFE_INTEGER })).toMatchObject({ name: 'tokens-rise-over-a-recovery' });
  });
});
