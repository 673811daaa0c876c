import { ClientFeature, CLIENT_FEATURES, CreateMode, MAX_TRANSACTION_BYTES } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import {
  BadVersionError,
  InvalidArgumentError,
  LimitExceededError,
  NotFoundError,
  TransactionFailedError,
} from '../src/errors.ts';
import { check, create, remove, set } from '../src/tree/transaction.ts';
import { scenario } from './support/scenario.ts';

describe('a transaction', () => {
  it('does all of its operations, and says what each did', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    const outcome = await world.settled(
      nodes.transaction([
        create('/a', 'one'),
        check('/a', { version: 0 }),
        set('/a', new Uint8Array([1])),
        create('/s-', null, { sequential: true }),
        create('/b'),
        remove('/b'),
      ]),
    );
    expect(outcome).toEqual({
      index: ensemble.index,
      results: [
        { type: 'create', path: '/a' },
        { type: 'check', path: '/a' },
        { type: 'set', path: '/a', version: 1 },
        { type: 'create', path: '/s-0000000000' },
        { type: 'create', path: '/b' },
        { type: 'remove', path: '/b' },
      ],
    });
    expect([...ensemble.nodes.keys()]).toEqual(['/a', '/s-']);
    expect(await world.settled(nodes.transaction([]))).toMatchObject({ results: [] });
  });

  it('does nothing when one of them fails, and says which and why', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    const error = await world.rejection(nodes.transaction([create('/a'), remove('/b'), create('/c')]));
    expect(error).toBeInstanceOf(TransactionFailedError);
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      operation: 1,
      path: '/b',
      retryable: false,
      indeterminate: false,
    });
    expect((error as Error).message).toMatch(
      /^nothing was done, because of operation 1 of the transaction, remove \/b: /,
    );
    expect((error as Error).cause).toBeInstanceOf(NotFoundError);
    expect(ensemble.nodes.size).toBe(0);
    await world.settled(nodes.create('/a'));
    const again = await world.rejection(nodes.transaction([set('/a', 'x', { version: 7 })]));
    expect((again as Error).cause).toBeInstanceOf(BadVersionError);
  });

  it('refuses what no server would take, before anything is sent', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    const wrong: (() => unknown)[] = [
      () => check('a'),
      () => check('/a/'),
      () => check('/a', { version: -2 }),
      () => check('/a', { versions: 2 } as never),
      () => create('/a', 7 as never),
      () => create('/a/'),
      () => create('/a', '', { ttl: 5 } as never),
      () => create('/a', '', { ephemeral: 'yes' as never }),
      () => create('/a', '', { ttlMs: 0 }),
      () => create('/a', '', { ttlMs: 1.5 }),
      () => create('/a', '', { ttlMs: 2 ** 40 }),
      () => create('/a', '', { ttlMs: 5, ephemeral: true }),
      () => create('/a', '', { ttlMs: 5, container: true }),
      () => create('/a', '', { container: true, sequential: true }),
      () => create('/a', '', { container: true, ephemeral: true }),
      () => set('/a', undefined as never),
      () => set('/a\0', ''),
      () => remove('/a', { version: NaN }),
      () => remove(undefined as never),
    ];
    for (const make of wrong) expect(make, String(make)).toThrow(InvalidArgumentError);
    for (const list of [undefined, {}, [undefined], [{ type: 'check', path: '/a' }], ['/a']])
      expect(await world.rejection(nodes.transaction(list as never))).toBeInstanceOf(InvalidArgumentError);
    const half = new Uint8Array(MAX_TRANSACTION_BYTES / 2);
    const large = await world.rejection(nodes.transaction([create('/a', half), create('/b', half)]));
    expect(large).toBeInstanceOf(LimitExceededError);
    expect(ensemble.requests()).toEqual([]);
  });
});

describe('a node', () => {
  it('is made of the kind that is asked for, by the command that most servers know', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    await world.settled(nodes.create('/plain', '', { ephemeral: true }));
    await world.settled(nodes.create('/c', '', { container: true }));
    await world.settled(nodes.create('/t', 'x', { ttlMs: 2 ** 40 - 1, sequential: true }));
    await world.settled(nodes.create('/none', null));
    await world.settled(nodes.set('/none', null));
    expect(ensemble.requests().map(({ command }) => command)).toEqual([
      'create',
      'createNode',
      'createNode',
      'createNode',
      'setNode',
    ]);
    expect(ensemble.modes).toEqual([
      { path: '/c', mode: CreateMode.container, ttlMs: 0 },
      { path: '/t', mode: CreateMode.persistentSequentialTtl, ttlMs: 2 ** 40 - 1 },
      { path: '/none', mode: CreateMode.persistent, ttlMs: 0 },
    ]);
    for (const options of [{ ttl: 5 }, { ttlMs: 0 }, { ttlMs: 5, container: true }])
      expect(await world.rejection(nodes.create('/a', '', options as never))).toBeInstanceOf(InvalidArgumentError);
    expect(await world.settled(nodes.get('/c'))).toMatchObject({ hasData: true, container: false, ttlMs: undefined });
  });
});

describe('the children of a node', () => {
  it('come page by page where they are too many for one answer', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    for (const name of 'gfedcba') ensemble.nodes.set(`/${name}`, new Uint8Array());
    ensemble.pageEntries = 3;
    expect((await world.settled(nodes.children('/'))).names.join('')).toBe('abcdefg');
    expect(await world.settled(nodes.childrenPage('/', { after: 'e' }))).toMatchObject({
      names: ['f', 'g'],
      more: false,
    });
    expect(await world.settled(nodes.childrenPage('/', { limit: 2 }))).toMatchObject({ names: ['a', 'b'], more: true });
    for (const options of [{ limit: 0 }, { limit: 1_001 }, { limit: 1.5 }, { after: 5 as never }])
      expect(await world.rejection(nodes.childrenPage('/', options))).toBeInstanceOf(InvalidArgumentError);
  });

  it('are counted with all below them', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    ensemble.nodes.set('/a', new Uint8Array());
    expect(await world.settled(nodes.descendants('/'))).toBe(1);
  });

  it('are not asked for in a way that closes the connection to an older server', async () => {
    const { world, ensemble, connect } = await scenario();
    for (const server of ensemble.servers) server.features = CLIENT_FEATURES - ClientFeature.pages;
    const { nodes } = await connect();
    const long = `/${'x'.repeat(1_024)}`;
    const calls = [
      () => nodes.childrenPage('/'),
      () => nodes.descendants('/'),
      () => nodes.get(long),
      () => nodes.exists(long),
    ];
    for (const call of calls) expect(await world.rejection(call())).toMatchObject({ code: 'UNSUPPORTED' });
    expect((await world.settled(nodes.children('/'))).names).toEqual([]);
    expect(ensemble.count('read')).toBe(1);
  });
});

describe('sync', () => {
  it('asks what costs a quorum round, and says up to where', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    await world.settled(nodes.create('/a'));
    expect(await world.settled(nodes.sync())).toBe(ensemble.index);
    expect(ensemble.received.at(-1)?.message).toMatchObject({ type: 'read', consistency: 'linearizable' });
  });
});
