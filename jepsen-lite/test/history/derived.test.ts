import { describe, expect, it } from 'vitest';

import { derived } from '../../src/history/derived.ts';
import { HistoryRecorder } from '../../src/history/recorder.ts';

describe('what is derived from a history', () => {
  it('is derived once, and anew when the history has grown', () => {
    let times = 0;
    const types = derived((history) => {
      times += 1;
      return history.map(({ type }) => type);
    });
    const recorder = new HistoryRecorder();
    recorder.record('harness', 1, { type: 'phase', phase: 'faults' });
    expect(types(recorder.events)).toEqual(['phase']);
    expect(types(recorder.events)).toEqual(['phase']);
    expect(times).toBe(1);
    recorder.record('c1', 2, { type: 'session', event: 'expired', session: 4 });
    expect(types(recorder.events)).toEqual(['phase', 'session']);
  });

  it('is not mixed up with that of another history', () => {
    const first = derived((history) => history[0]?.process);
    const [one, other] = [new HistoryRecorder(), new HistoryRecorder()];
    one.record('c1', 1, { type: 'phase', phase: 'faults' });
    other.record('c2', 1, { type: 'phase', phase: 'faults' });
    expect([first(one.events), first(other.events)]).toEqual(['c1', 'c2']);
  });
});
