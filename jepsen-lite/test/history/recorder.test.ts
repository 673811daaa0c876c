import { describe, expect, it } from 'vitest';

import { HistoryRecorder } from '../../src/history/recorder.ts';

describe('a recorder', () => {
  it('numbers events in the order in which they are told, whatever their time', () => {
    const recorder = new HistoryRecorder();
    recorder.record({ timeMs: 7, process: 'nemesis', type: 'phase', phase: 'faults' });
    recorder.record({ timeMs: 5, process: 's1', type: 'granted', index: 9, lock: 'a', session: 4, hold: 9, token: 9 });
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
    const stamp = { timeMs: 1, process: 'c1' };
    recorder.record({ ...stamp, type: 'invoke', call, ...operation });
    const told = recorder.record({ ...stamp, type: 'ok', call, ...operation, token: 9, hold: 8 });
    expect(told).toBe(recorder.events[1]);
  });
});
