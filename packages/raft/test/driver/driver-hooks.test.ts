import type { ConnectionHandler } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../src/core/index.ts';
import { DriverHooks } from '../../src/driver/parts/driver-hooks.ts';
import type { DriverPart } from '../../src/driver/parts/driver-part.ts';

const receiver: DriverPart = { snapshot: (): ConnectionHandler => ({ frame() {}, close() {} }) };

describe('the hooks of the parts of a driver', () => {
  it('are called in the order of the list', () => {
    const heard: string[] = [];
    const part = (name: string): DriverPart => ({
      connected: (peer) => heard.push(`${name} hears of ${peer}`),
      endTurn: (beganAtMs) => heard.push(`${name} ends a turn of ${beganAtMs}`),
    });
    const hooks = new DriverHooks();
    hooks.install([part('one'), receiver, part('two')]);
    hooks.connected(serverId(2));
    hooks.endTurn(7);
    expect(heard).toEqual(['one hears of 2', 'two hears of 2', 'one ends a turn of 7', 'two ends a turn of 7']);
  });

  it('want a turn as soon as one part has work', () => {
    const work = { left: false };
    const hooks = new DriverHooks();
    hooks.install([{ hasWork: () => false }, receiver, { hasWork: () => work.left }]);
    expect(hooks.hasWork()).toBe(false);
    work.left = true;
    expect(hooks.hasWork()).toBe(true);
  });

  it('have one part that receives snapshots', () => {
    expect(() => new DriverHooks().install([])).toThrow('one-part-receives-snapshots');
    expect(() => new DriverHooks().install([receiver, receiver])).toThrow('one-part-receives-snapshots');
  });
});
