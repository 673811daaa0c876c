import { describe, expect, it } from 'vitest';

import type { Engine } from '../../../src/engines/engine.ts';
import { FencedStore } from '../../../src/fenced-store.ts';
import { describeEngine } from '../../engines/engine-conformance.ts';
import { Group } from './support/group.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (store: FencedStore, key: string): string => new TextDecoder().decode(store.get('b', key).value);

describeEngine('the engine of a primary with two replicas', async (test) => {
  const group = new Group({ seed: 'conformance', limits: { maxLogEntries: 40 } });
  await group.start();
  let lives = 0;
  await group.world.complete(
    test(async (): Promise<Engine> => {
      lives += 1;
      return await group.elect(`r${1 + (lives % 3)}`);
    }),
  );
});

describe('a group of replicas on disks', () => {
  it('has what was acknowledged when its primary has died', async () => {
    const group = new Group({ seed: 1 });
    await group.start();
    const { world } = group;
    const before = await world.complete(FencedStore.open(await world.complete(group.elect('r1'))));
    await world.complete(before.write('b', [{ key: 'k', value: bytes('first') }], { token: 41 }));
    group.crash('r1');
    const elected = group.elect('r2');
    await group.until(() => group.configuration.primary === 'r2');
    group.suspect('r2', 'r1');
    const after = await world.complete(FencedStore.open(await world.complete(elected)));
    expect(textOf(after, 'k')).toBe('first');
    expect(after.info('b').highest).toBe(41);
  });

  it('refuses at the new primary what the fence of the old one refused', async () => {
    const group = new Group({ seed: 2 });
    await group.start();
    const { world } = group;
    const before = await world.complete(FencedStore.open(await world.complete(group.elect('r1'))));
    await world.complete(before.install('b', 57));
    const after = await world.complete(FencedStore.open(await world.complete(group.elect('r2'))));
    const stale = after.write('b', [{ key: 'k', value: bytes('late') }], { token: 41 });
    await expect(world.complete(stale)).rejects.toMatchObject({ refusal: { code: 'STALE_TOKEN', highest: 57 } });
  });

  it('tells a client of a primary that was superseded that its write may have happened', async () => {
    const group = new Group({ seed: 3 });
    await group.start();
    const { world } = group;
    const before = await world.complete(FencedStore.open(await world.complete(group.elect('r1'))));
    group.cut('r1', true);
    const write = before.write('b', [{ key: 'k', value: bytes('late') }], { token: 41 });
    const outcome = expect(write).rejects.toMatchObject({ code: 'CLOSED', indeterminate: true });
    const elected = group.elect('r2');
    await group.until(() => group.configuration.primary === 'r2');
    group.suspect('r2', 'r1');
    await world.complete(elected);
    group.cut('r1', false);
    group.connect('r2', 'r1');
    await world.complete(outcome);
    expect(() => before.info('b')).toThrow('not the primary');
  });

  it('copies its buckets to a replica that lacks what the log has forgotten, and counts on it then', async () => {
    const group = new Group({ seed: 4, limits: { maxLogEntries: 20 } });
    await group.start();
    const { world } = group;
    const store = await world.complete(FencedStore.open(await world.complete(group.elect('r1'))));
    await world.complete(store.write('b', [{ key: 'gone', value: bytes('x') }], { token: 41 }));
    group.cut('r3', true);
    group.suspect('r1', 'r3');
    await group.until(() => group.configuration.inSync.length === 2);
    await world.complete(store.write('b', [{ key: 'gone', value: undefined }], { token: 41 }));
    for (let number = 0; number < 60; number += 1) {
      await world.complete(store.write('b', [{ key: `k${number}`, value: bytes(`v${number}`) }], { token: 41 }));
    }
    expect(group.replica('r1').status.base).toBeGreaterThan(group.replica('r3').status.lastIndex);
    group.cut('r3', false);
    group.connect('r1', 'r3');
    await group.until(() => group.configuration.inSync.length === 3);
    group.crash('r1');
    group.crash('r2');
    await group.start(['r2']);
    const elected = group.elect('r3');
    await group.until(() => group.configuration.primary === 'r3');
    group.connect('r3', 'r2');
    group.suspect('r3', 'r1');
    const after = await world.complete(FencedStore.open(await world.complete(elected)));
    expect(textOf(after, 'k59')).toBe('v59');
    expect(after.info('b')).toMatchObject({ keys: 60, highest: 41 });
    expect(() => after.get('b', 'gone')).toThrow('does not exist');
  });

  it('goes on with a copy after a power failure in the middle of it', async () => {
    const group = new Group({ seed: 5, limits: { maxLogEntries: 20 } });
    await group.start();
    const { world } = group;
    const store = await world.complete(FencedStore.open(await world.complete(group.elect('r1'))));
    group.cut('r3', true);
    group.suspect('r1', 'r3');
    await group.until(() => group.configuration.inSync.length === 2);
    for (let number = 0; number < 40; number += 1) {
      const value = new Uint8Array(100_000).fill(number);
      await world.complete(store.write('b', [{ key: `k${number}`, value }], { token: 41 }));
    }
    group.cut('r3', false);
    group.connect('r1', 'r3');
    await group.until(() => group.replica('r3').status.copying);
    for (let crash = 0; crash < 3; crash += 1) {
      await world.run({ forMs: 15 });
      group.crash('r3');
      await group.start(['r3']);
      group.connect('r1', 'r3');
    }
    await group.until(() => group.configuration.inSync.length === 3);
    const after = await world.complete(FencedStore.open(await world.complete(group.elect('r3'))));
    expect(after.info('b').keys).toBe(40);
    expect(after.get('b', 'k39').value[0]).toBe(39);
  });
});
