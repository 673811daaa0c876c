import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EndSignals } from '../../../src/targets/live/end-signals.ts';

let signals: EndSignals;

beforeEach(() => (signals = new EndSignals()));
afterEach(() => signals.close());

describe('a signal that is to end a run', () => {
  it('is told to whoever runs it, and ends no process meanwhile', () => {
    let told = 0;
    signals.tell(() => (told += 1));
    expect([signals.heard, told]).toEqual([false, 0]);
    process.emit('SIGTERM');
    expect([signals.heard, told]).toEqual([true, 1]);
  });

  it('is told at once that came before there was anybody to tell', () => {
    process.emit('SIGINT');
    let told = 0;
    signals.tell(() => (told += 1));
    expect(told).toBe(1);
  });

  it('is nobody’s concern after the run', () => {
    const listeners = process.listenerCount('SIGHUP');
    signals.close();
    expect(process.listenerCount('SIGHUP')).toBe(listeners - 1);
  });
});
