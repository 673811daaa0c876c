import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { offAbort, onAbort } from '../src/index.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('many waits on one signal', () => {
  it('share one listener, and are called in their order with its reason', () => {
    const aborter = new AbortController();
    const called: unknown[] = [];
    for (let wait = 0; wait < 100; wait += 1) onAbort(aborter.signal, (reason) => called.push([wait, reason]));
    expect(listeners(aborter.signal)).toBe(1);
    aborter.abort('enough');
    expect(called).toEqual(Array.from({ length: 100 }, (_, wait) => [wait, 'enough']));
    expect(listeners(aborter.signal)).toBe(0);
  });

  it('leave no listener when the last is taken back, and one is made again for the next', () => {
    const aborter = new AbortController();
    const called: string[] = [];
    const first = (): void => void called.push('first');
    const second = (): void => void called.push('second');
    onAbort(aborter.signal, first);
    onAbort(aborter.signal, second);
    offAbort(aborter.signal, first);
    expect(listeners(aborter.signal)).toBe(1);
    offAbort(aborter.signal, second);
    offAbort(aborter.signal, second);
    expect(listeners(aborter.signal)).toBe(0);
    onAbort(aborter.signal, second);
    aborter.abort();
    expect(called).toEqual(['second']);
    offAbort(aborter.signal, second);
  });

  it('that an earlier one takes back while the signal aborts are not called', () => {
    const aborter = new AbortController();
    const called: string[] = [];
    const second = (): void => void called.push('second');
    onAbort(aborter.signal, () => offAbort(aborter.signal, second));
    onAbort(aborter.signal, second);
    aborter.abort();
    expect(called).toEqual([]);
  });
});
