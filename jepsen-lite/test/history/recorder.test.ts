import { describe, expect, it } from 'vitest';

import { HistoryRecorder } from '../../src/history/recorder.ts';

describe('a recorder', () => {
  it('numbers events in the order in which they are recorded, whatever their time', () => {
    const recorder = new HistoryRecorder();
    recorder.record('nemesis', 7, { type: 'phase', phase: 'faults' });
    recorder.record('s1', 5, { type: 'granted', index: 9, lock: 'a', session: 4, hold: 9, token: 9 });
    expect(recorder.events.map((event) => [event.seq, event.timeMs, event.type])).toEqual([
      [1, 7, 'phase'],
      [2, 5, 'granted'],
    ]);
  });

  it('gives every call a number of its own', () => {
    const recorder = new HistoryRecorder();
    expect(new Set([recorder.nextCall(), recorder.nextCall(), recorder.nextCall()]).size).toBe(3);
  });

  it('returns the event as it was recorded', () => {
    const recorder = new HistoryRecorder();
    const call = recorder.nextCall();
    const operation = { f: 'acquire', lock: 'a', session: 4 } as const;
    recorder.record('c1', 1, { type: 'invoke', call, ...operation });
    const recorded = recorder.record('c1', 1, { type: 'ok', call, ...operation, token: 9, hold: 8 });
    expect(recorded).toBe(recorder.events[1]);
  });
});
