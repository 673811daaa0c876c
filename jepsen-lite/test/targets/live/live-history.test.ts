import { describe, expect, it } from 'vitest';
import { LiveHistory } from '../../../src/targets/live/clients/live-history.ts';

const ORIGIN = 5_000_000_000n;
const expired = (session: number) => ({ type: 'session', event: 'expired', session }) as const;

describe('the history of several processes', () => {
  it('has their events in the order of their stamps, however late one was told', () => {
    const history = new LiveHistory(ORIGIN);
    history.add('c1', ORIGIN + 3_000_000n, expired(1));
    history.add('c2', ORIGIN + 1_500_000n, expired(2));
    expect(history.merged()).toEqual([
      { seq: 1, timeMs: 1.5, process: 'c2', ...expired(2) },
      { seq: 2, timeMs: 3, process: 'c1', ...expired(1) },
    ]);
  });

  it('keeps the order in which one process told what happened at one moment', () => {
    const history = new LiveHistory(ORIGIN);
    for (const session of [3, 1, 2]) history.add('c1', ORIGIN, expired(session));
    expect(history.merged().map((event) => 'session' in event && event.session)).toEqual([3, 1, 2]);
  });

  it('tells two moments apart that floating point numbers of nanoseconds would not', () => {
    const late = 9_007_199_254_740_993n;
    const history = new LiveHistory(late - 1_000_000n);
    history.add('c2', late, expired(2));
    history.add('c1', late - 1n, expired(1));
    expect(history.merged().map(({ process }) => process)).toEqual(['c1', 'c2']);
  });
});
