import { describe, expect, it } from 'vitest';
import { availability } from '../../../src/campaigns/live/availability.ts';
import type { HistoryEvent, HistoryEventBody } from '../../../src/history/history.ts';

function history(...events: readonly (readonly [number, string, HistoryEventBody])[]): HistoryEvent[] {
  return events.map(([timeMs, process, body], n) => ({ seq: n + 1, timeMs, process, ...body }) as HistoryEvent);
}

const read = { type: 'ok', call: 1, f: 'read', path: '/a', consistency: 'linearizable', value: null } as const;
const stored = { type: 'ok', call: 2, f: 'put', bucket: 'b', key: 'k', value: 'v', token: 1 } as const;
const phase = (name: 'faults' | 'quiet') => ({ type: 'phase', phase: name }) as const;
const kill = (name: 'begin' | 'end') => ({ type: 'fault', fault: 'kill', phase: name }) as const;

describe('the longest time without service', () => {
  const told = history(
    [0, 'harness', phase('faults')],
    [100, 'c1', read],
    [200, 'harness', kill('begin')],
    [300, 'c1', stored],
    [350, 'harness', kill('end')],
    [900, 'c1', read],
    [1_000, 'c2', read],
    [1_900, 'c1', read],
    [2_000, 'harness', phase('quiet')],
  );

  it('counts from the beginning of the load to its end, and not what the store answered', () => {
    expect(availability(told, ['c1', 'c2']).longestGapMs).toEqual({ c1: 1_000, c2: 1_000 });
  });

  it('under a fault is that of the gaps that it touches', () => {
    expect(availability(told, ['c1', 'c2']).byFault).toEqual({ kill: { c1: 800, c2: 1_000 } });
  });

  it('under a fault is a distribution over the clients', () => {
    const { distributions } = availability(told, ['c1', 'c2', 'c3']);
    expect(distributions).toEqual({ kill: { count: 3, median: 1_000, p90: 2_000, max: 2_000 } });
  });

  it('is found among as many answers as an hour has', () => {
    const begun = history([0, 'harness', phase('faults')]);
    const answers = Array.from({ length: 300_000 }, (_, n) => ({
      seq: n + 2,
      timeMs: 100 + n,
      process: 'c1',
      ...read,
    }));
    const all: HistoryEvent[] = begun.concat(answers);
    expect(availability(all, ['c1']).longestGapMs).toEqual({ c1: 100 });
  });
});
