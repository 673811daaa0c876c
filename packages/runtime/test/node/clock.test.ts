import { once } from 'node:events';
import { setImmediate as nextCheck } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';

import { nodeClock } from '../../src/node/clock.ts';

const clock = nodeClock();

describe('afterPoll', () => {
  test('runs all callbacks of a turn in their order, in one check phase', async () => {
    const heard: string[] = [];
    clock.afterPoll(() => heard.push('first'));
    clock.afterPoll(() => {
      heard.push('second');
      clock.afterPoll(() => heard.push('of the next turn'));
    });
    clock.afterPoll(() => heard.push('third'));
    expect(heard).toEqual([]);
    await nextCheck();
    expect(heard).toEqual(['first', 'second', 'third']);
    await nextCheck();
    expect(heard).toEqual(['first', 'second', 'third', 'of the next turn']);
  });

  test('lets one that throws keep nobody else from his turn', async () => {
    const heard: string[] = [];
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    try {
      const thrown = once(process, 'uncaughtException');
      clock.afterPoll(() => heard.push('before'));
      clock.afterPoll(() => {
        throw new Error('of one callback');
      });
      clock.afterPoll(() => heard.push('behind'));
      clock.afterPoll(() => heard.push('last'));
      const [error] = (await thrown) as [Error];
      expect(error.message).toBe('of one callback');
      await nextCheck();
      expect(heard).toEqual(['before', 'behind', 'last']);
    } finally {
      for (const listener of others) process.on('uncaughtException', listener);
    }
  });
});
