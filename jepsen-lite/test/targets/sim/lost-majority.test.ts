import { MAX_TOKEN_JUMP } from '@holdfast/fenced-kv';
import { describe, expect, it } from 'vitest';
import { checkHistory, type CheckerName } from '../../../src/checkers/check.ts';
import { loseMajority, type LostMajorityRun } from '../../../src/targets/sim/lost-majority.ts';

const GAP = 2 ** 38;
const SEEDS = 30;

/** Those that need no log, of which a part is lost. */
const CHECKERS: readonly CheckerName[] = ['completions', 'tokens', 'exclusion', 'fence', 'lost-updates', 'unfenced'];

/** Tokens that applications were told before and after the recovery. */
function tokensOf({ recorder, eventsBefore }: LostMajorityRun): [readonly number[], readonly number[]] {
  const [before, after]: [number[], number[]] = [[], []];
  for (const event of recorder.events) {
    if (event.type === 'ok' && event.f === 'acquire') (event.seq <= eventsBefore ? before : after).push(event.token);
  }
  return [before, after];
}

function staleAfter({ recorder, eventsBefore }: LostMajorityRun): number {
  return recorder.events.filter(
    (event) => event.seq > eventsBefore && event.type === 'fail' && event.code === 'STALE_TOKEN',
  ).length;
}

describe('an ensemble that has lost a majority for good', { timeout: 120_000 }, () => {
  it('goes on from one server: every session has ended, every token is higher, and the store turns old holders away', async () => {
    const seen = { behind: 0, interrupted: 0, ended: 0, stale: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const run = await loseMajority(seed);
      const { recorder, recovery, oldIndex, states } = run;
      const where = `seed ${seed}`;
      // One before has begun a cluster, too, for all that the second one knows, however far it came.
      expect(recovery.index, where).toBeGreaterThanOrEqual(recovery.lastIndex + GAP);
      if (run.recoveries === 1) expect(recovery.index, where).toBe(recovery.lastIndex + GAP);
      // The store believes the tokens of three of them.
      expect(3 * GAP, where).toBeLessThan(MAX_TOKEN_JUMP);
      expect(recovery.index, where).toBeGreaterThan(oldIndex + GAP / 2);
      expect(run.sessionsKept, where).toBe(0);
      const [before, after] = tokensOf(run);
      expect(before.length, where).toBeGreaterThan(0);
      expect(Math.max(...before), where).toBeLessThanOrEqual(oldIndex);
      expect(Math.min(...after), where).toBeGreaterThan(recovery.index);
      for (const verdict of checkHistory(recorder.events, { checkers: CHECKERS })) {
        expect(verdict.broken, `${where}, ${verdict.checker}`).toEqual([]);
      }
      expect(new Set(states.map(({ digest }) => digest)).size, where).toBe(1);
      seen.behind += recovery.lastIndex < oldIndex ? 1 : 0;
      seen.interrupted += run.interrupted ? 1 : 0;
      seen.ended += recovery.before.sessions;
      seen.stale += staleAfter(run);
    }
    // What it is about has happened: grants that the server that was left had never heard of, power failures in the recovery, old holders.
    expect(seen.behind).toBeGreaterThan(SEEDS / 4);
    expect(seen.interrupted).toBeGreaterThan(SEEDS / 8);
    expect(seen.ended).toBeGreaterThan(SEEDS);
    expect(seen.stale).toBeGreaterThan(0);
  });
});
