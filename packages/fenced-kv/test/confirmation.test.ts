import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';

import { AuthorityError, judgeClaim } from '../src/confirmation.ts';
import type { LockAuthority, LockLook } from '../src/confirmation.ts';
import { FencedStore } from '../src/fenced-store.ts';
import type { StoreOptions } from '../src/fenced-store.ts';
import { MAX_LOOKS } from '../src/limits.ts';
import type { Engine } from '../src/engines/engine.ts';
import { memoryEngine } from './support/memory-engine.ts';
import { refusalOf } from './support/refusal-of.ts';

const FAR = Number.MAX_SAFE_INTEGER;
const VALUE = new TextEncoder().encode('v');

/** An ensemble of one lock after the other, which counts how often it is asked. */
class FakeEnsemble implements LockAuthority {
  readonly held = new Map<string, readonly number[]>();
  index = 100;
  reachable = true;
  looks = 0;
  /** Holds looks back until it is called. */
  gate: Promise<void> = Promise.resolve();

  async look(lock: string): Promise<LockLook> {
    this.looks += 1;
    await this.gate;
    if (!this.reachable) throw new AuthorityError('nobody answers');
    const tokens = this.held.get(lock) ?? [];
    if (tokens.length === 0) return { held: undefined, index: this.index };
    return { held: { lowest: Math.min(...tokens), highest: Math.max(...tokens) }, index: this.index };
  }
}

let ensemble: FakeEnsemble;
let engine: Engine;
let store: FencedStore;

async function open(options: StoreOptions = {}): Promise<void> {
  store = await FencedStore.open(engine, { authority: ensemble, ...options });
}

beforeEach(async () => {
  ensemble = new FakeEnsemble();
  engine = memoryEngine();
  await open();
  await store.create('b', { lock: 'jobs' });
});

async function put(token: number, floor?: number, bucket = 'b'): Promise<void> {
  await store.write(bucket, [{ key: 'k', value: VALUE }], { token, floor });
}

describe('a claim', () => {
  it('is confirmed exactly where it fences off no holder, of now or later, and was given', () => {
    const holds = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 4 });
    fc.assert(
      fc.property(holds, fc.integer({ min: 1, max: 60 }), fc.nat({ max: 60 }), (tokens, token, told) => {
        const floor = Math.min(token, told);
        const held = tokens.length === 0 ? undefined : { lowest: Math.min(...tokens), highest: Math.max(...tokens) };
        const refusal = judgeClaim('jobs', { token, floor }, { held, index: 55 });
        const later = 56; // the lowest that the next holder's token can be
        const fencesOff = [...(tokens.length === 0 ? [later] : tokens)].some((live) => live < floor);
        const given = token <= (held?.highest ?? 55);
        expect(refusal === undefined).toBe(!fencesOff && given);
      }),
    );
  });
});

describe('a bucket that is bound to a lock', () => {
  it('takes the token of who holds the lock, and refuses one that it never gave', async () => {
    ensemble.held.set('jobs', [57]);
    await put(57);
    expect(await refusalOf(() => store.install('b', FAR))).toEqual({
      code: 'TOKEN_NOT_GRANTED',
      lock: 'jobs',
      presented: FAR,
      newest: 57,
    });
    expect(await refusalOf(() => put(58))).toMatchObject({ code: 'TOKEN_NOT_GRANTED', presented: 58 });
    // Nor does it pass a made-up token by telling a floor that is installed.
    expect(await refusalOf(() => put(FAR, 57))).toMatchObject({ code: 'TOKEN_NOT_GRANTED' });
    expect(store.info('b')).toMatchObject({ lock: 'jobs', highest: 57 });
  });

  it('asks once for a change of hands, and not for writes under what it knows', async () => {
    ensemble.held.set('jobs', [57]);
    await store.install('b', 57);
    expect(ensemble.looks).toBe(1);
    for (let n = 0; n < 5; n += 1) await put(57);
    expect(await refusalOf(() => put(41))).toMatchObject({ code: 'STALE_TOKEN' });
    store.info('b', { token: 57 });
    expect(ensemble.looks).toBe(1);
    ensemble.held.set('jobs', [60]);
    await put(60);
    await put(60);
    expect(ensemble.looks).toBe(2);
  });

  it('asks once for each token of who shares the lock', async () => {
    ensemble.held.set('jobs', [41, 57]);
    await put(57, 41);
    await put(57, 41);
    await put(41, 41);
    expect(ensemble.looks).toBe(1);
    expect(await refusalOf(() => put(57))).toEqual({
      code: 'FLOOR_TOO_HIGH',
      lock: 'jobs',
      presented: 57,
      lowest: 41,
    });
    ensemble.held.set('jobs', [57, 60]);
    await put(60, 57);
    expect(await refusalOf(() => put(41, 41))).toMatchObject({ code: 'STALE_TOKEN', highest: 57 });
  });

  it('takes the last holder that has just released, and no token that may be given yet', async () => {
    await put(57);
    expect(await refusalOf(() => put(101))).toMatchObject({ code: 'TOKEN_NOT_GRANTED', newest: 100 });
    await put(100);
  });

  it('takes a confirmed token however far above the highest', async () => {
    await put(1);
    ensemble.held.set('jobs', [2 ** 52]);
    await put(2 ** 52);
    expect(store.info('b').highest).toBe(2 ** 52);
  });

  it('serves who is installed while the ensemble cannot be reached, and says of others that it may come again', async () => {
    ensemble.held.set('jobs', [57]);
    await put(57);
    ensemble.reachable = false;
    await put(57);
    expect(await refusalOf(() => put(41))).toMatchObject({ code: 'STALE_TOKEN' });
    await expect(put(60)).rejects.toMatchObject({ code: 'ENSEMBLE_UNREACHABLE' });
    await expect(store.install('b', 60)).rejects.toBeInstanceOf(AuthorityError);
    expect(store.info('b').highest).toBe(57);
    ensemble.reachable = true;
    ensemble.held.set('jobs', [60]);
    await put(60);
  });

  it('is bound after a restart, also by a server that knows no ensemble', async () => {
    ensemble.held.set('jobs', [57]);
    await put(57);
    await open({ authority: undefined });
    expect(store.info('b')).toMatchObject({ lock: 'jobs', highest: 57 });
    await put(57);
    await expect(put(60)).rejects.toThrow('--ensemble');
  });

  it('is made once, with its lock', async () => {
    expect(await store.create('b', { lock: 'jobs' })).toEqual({ created: false });
    for (const kind of [{ lock: 'other' }, {}, { lock: 'jobs', tokens: 'optional' as const }]) {
      expect(await refusalOf(() => store.create('b', kind))).toEqual({
        code: 'BUCKET_EXISTS',
        bucket: 'b',
        tokens: 'required',
        lock: 'jobs',
      });
    }
    await store.install('free', 1);
    // Whoever can reach the server could lock everybody out of a bucket with a lock of its own.
    expect(await refusalOf(() => store.create('free', { lock: 'mine' }))).toMatchObject({ code: 'BUCKET_EXISTS' });
    expect(await store.bind('free', 'jobs')).toEqual({ previous: null });
    expect(store.info('free')).toMatchObject({ lock: 'jobs', highest: 1 });
    expect(await refusalOf(() => store.bind('nowhere', 'jobs'))).toMatchObject({ code: 'BUCKET_NOT_FOUND' });
  });

  it.each(['', 'a\u0000b', '\ud800', 'x'.repeat(257)])('has a lock with a name, unlike %j', async (lock) => {
    const refusal = await refusalOf(() => store.create('c', { lock }));
    expect(refusal).toMatchObject({ argument: 'lock' });
    expect(await refusalOf(() => store.bind('b', lock))).toEqual(refusal);
  });
});

describe('looks at a lock', () => {
  it('are shared by those that came before it began, and by no others', async () => {
    let openGate = (): void => {};
    ensemble.gate = new Promise((resolve) => {
      openGate = resolve;
    });
    ensemble.held.set('jobs', [57]);
    const first = put(57);
    await expect.poll(() => ensemble.looks).toBe(1);
    const others = Promise.all(Array.from({ length: 20 }, () => put(60)));
    await store.create('elsewhere', {}); // whatever was asked for before is under way now
    ensemble.held.set('jobs', [60]);
    openGate();
    // The first look may have missed 60; the one that the others share has not.
    await Promise.allSettled([first]);
    await others;
    expect(ensemble.looks).toBeLessThanOrEqual(3);
    expect(store.info('b').highest).toBe(60);
  });

  it('are bounded: of so many locks at once, the next is refused for now', async () => {
    let openGate = (): void => {};
    ensemble.gate = new Promise((resolve) => {
      openGate = resolve;
    });
    const waiting: Promise<unknown>[] = [];
    for (let n = 0; n < MAX_LOOKS; n += 1) {
      await store.create(`b${n}`, { lock: `lock-${n}` });
      waiting.push(store.install(`b${n}`, 5));
    }
    await expect.poll(() => ensemble.looks).toBe(MAX_LOOKS);
    await expect(put(57)).rejects.toThrow('try again later');
    openGate();
    await Promise.all(waiting);
    await put(57);
  });
});

describe('a store that confirms every token', () => {
  beforeEach(async () => {
    await store.install('free', 5);
    await open({ demandLocks: true });
  });

  it('takes nothing new in a bucket without a lock, and goes on under what is installed', async () => {
    expect(await refusalOf(() => put(5, undefined, 'free'))).toBeUndefined();
    expect(await refusalOf(() => put(6, undefined, 'free'))).toEqual({ code: 'BUCKET_NOT_BOUND', bucket: 'free' });
    expect(await refusalOf(() => store.install('new', FAR))).toEqual({ code: 'BUCKET_NOT_BOUND', bucket: 'new' });
    expect(await refusalOf(() => store.info('new'))).toMatchObject({ code: 'BUCKET_NOT_FOUND' });
    ensemble.held.set('jobs', [57]);
    await put(57);
  });
});
