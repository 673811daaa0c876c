/** Replicas whose clocks are years apart: what has expired under one primary does not live again under another one, and no fence depends on it. */

import { describe, expect, it } from 'vitest';

import { FencedStore } from '../../../src/fenced-store.ts';
import type { StoreOptions } from '../../../src/fenced-store.ts';
import { refusalOf } from '../../support/refusal-of.ts';
import { Group } from './support/group.ts';

const VALUE = new TextEncoder().encode('v');
const NOW_MS = 1_700_000_000_000;
const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1_000;
const TTL_MS = 1_000;

/** The clock of one machine, which is set by hand. */
class SetClock {
  #wallMs: number;
  #monotonicMs = 5;

  constructor(wallMs: number) {
    this.#wallMs = wallMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  pass(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }

  jump(ms: number): void {
    this.#wallMs += ms;
  }
}

/** The store of a primary whose machine has that clock. */
async function storeOf(group: Group, replica: string, clock: StoreOptions['clock']): Promise<FencedStore> {
  return await group.world.complete(FencedStore.open(await group.world.complete(group.elect(replica)), { clock }));
}

describe('a group whose machines have other clocks', () => {
  it('brings no expired key back, and keeps its fences, whatever the clock of the next primary says', async () => {
    const group = new Group({ seed: 'clocks' });
    await group.start();
    const { world } = group;
    const clock = new SetClock(NOW_MS);
    const first = await storeOf(group, 'r1', clock);
    await world.complete(first.write('b', [{ key: 'short', value: VALUE, ttlMs: TTL_MS }], { token: 41 }));
    await world.complete(first.write('b', [{ key: 'long', value: VALUE, ttlMs: 10 * TTL_MS }], { token: 41 }));
    clock.jump(-TEN_YEARS_MS);
    clock.pass(2 * TTL_MS);
    expect(await refusalOf(() => first.get('b', 'short'))).toMatchObject({ code: 'KEY_NOT_FOUND' });
    expect(await world.complete(first.removeExpired())).toBe(1);

    const behind = await storeOf(group, 'r2', new SetClock(NOW_MS - TEN_YEARS_MS));
    expect(await refusalOf(() => behind.get('b', 'short'))).toMatchObject({ code: 'KEY_NOT_FOUND' });
    // It goes on from the time that the primary before has written down.
    expect(behind.open('b', 'long').expiresInMs).toBe(8 * TTL_MS);
    const stale = refusalOf(async () => await behind.write('b', [{ key: 'k', value: VALUE }], { token: 40 }));
    expect(await world.complete(stale)).toMatchObject({ code: 'STALE_TOKEN', highest: 41 });

    const ahead = await storeOf(group, 'r3', new SetClock(NOW_MS + TEN_YEARS_MS));
    expect(await refusalOf(() => ahead.get('b', 'long'))).toMatchObject({ code: 'KEY_NOT_FOUND' });
    expect(await world.complete(ahead.removeExpired())).toBe(1);
    await world.complete(ahead.write('b', [{ key: 'k', value: VALUE }], { token: 42 }));

    const back = await storeOf(group, 'r1', new SetClock(NOW_MS));
    expect(await refusalOf(() => back.get('b', 'long'))).toMatchObject({ code: 'KEY_NOT_FOUND' });
    expect(back.info('b')).toMatchObject({ highest: 42, keys: 1 });
  });
});
