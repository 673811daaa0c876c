import { MAX_DATA_BYTES } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import {
  BadVersionError,
  InvalidArgumentError,
  LimitExceededError,
  NodeExistsError,
  NotFoundError,
} from '../src/errors.ts';
import { scenario } from './support/scenario.ts';

describe('nodes', () => {
  it('are created, read, changed, listed and deleted', async () => {
    const { world, connect } = await scenario();
    const { nodes } = await connect();
    expect(await world.settled(nodes.create('/a', 'one'))).toMatchObject({ path: '/a', stat: { dataLength: 3 } });
    expect(await world.settled(nodes.exists('/a'))).toMatchObject({ dataLength: 3 });
    expect((await world.settled(nodes.set('/a', new Uint8Array([1, 2])))).dataLength).toBe(2);
    expect([...(await world.settled(nodes.get('/a'))).data]).toEqual([1, 2]);
    expect((await world.settled(nodes.children('/'))).names).toEqual(['a']);
    await world.settled(nodes.delete('/a'));
    expect(await world.settled(nodes.exists('/a'))).toBeUndefined();
  });

  it('give bytes that are their own, not a view of a frame', async () => {
    const { world, connect } = await scenario();
    const { nodes } = await connect();
    const data = new Uint8Array([1, 2, 3]);
    const created = nodes.create('/a', data);
    data.fill(9);
    await world.settled(created);
    const answer = (await world.settled(nodes.get('/a'))).data;
    expect([...answer]).toEqual([1, 2, 3]);
    expect(answer.buffer.byteLength).toBe(3);
  });

  it('answer with typed errors that name the call and the node', async () => {
    const { world, connect } = await scenario();
    const { nodes } = await connect();
    await world.settled(nodes.create('/a'));
    const exists = await world.rejection(nodes.create('/a'));
    expect(exists).toBeInstanceOf(NodeExistsError);
    expect((exists as Error).message).toMatch(/^create \/a: /);
    expect(await world.rejection(nodes.get('/b'))).toBeInstanceOf(NotFoundError);
    expect(await world.rejection(nodes.set('/a', '', { version: 3 }))).toBeInstanceOf(BadVersionError);
    expect(await world.rejection(nodes.delete('/b'))).toMatchObject({ code: 'NOT_FOUND', retryable: false });
  });

  it('refuse arguments that no server would take, before anything is sent', async () => {
    const { world, ensemble, connect } = await scenario();
    const { nodes } = await connect();
    for (const path of ['a', '/a/', '//', '/a/../b', '/\u0000', `/${'x'.repeat(4_096)}`]) {
      expect(await world.rejection(nodes.get(path))).toBeInstanceOf(InvalidArgumentError);
    }
    expect(await world.rejection(nodes.delete('/a', { version: -2 }))).toBeInstanceOf(InvalidArgumentError);
    expect(await world.rejection(nodes.set('/a', '', { version: 1.5 }))).toBeInstanceOf(InvalidArgumentError);
    const tooLong = new Uint8Array(MAX_DATA_BYTES + 1);
    expect(await world.rejection(nodes.create('/a', tooLong))).toBeInstanceOf(LimitExceededError);
    expect(ensemble.requests()).toEqual([]);
    expect(ensemble.count('read')).toBe(0);
  });
});

describe('the operator’s reads', () => {
  it('list every lock and every session, page by page', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const other = await connect();
    for (const name of ['c', 'a', 'b']) await world.settled(client.lock(name).acquire());
    const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
      const all: T[] = [];
      for await (const item of items) all.push(item);
      return all;
    };
    expect((await world.settled(collect(client.admin.locks()))).map(({ lock }) => lock)).toEqual(['a', 'b', 'c']);
    const sessions = await world.settled(collect(client.admin.sessions()));
    expect(sessions.map(({ session }) => session)).toEqual([client.sessionId, other.sessionId]);
  });

  it('show one lock: who holds it, and who waits, in order', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    void client
      .lock('a')
      .acquire()
      .catch(() => undefined);
    await world.until(() => ensemble.queue('a').length === 2);
    const { holders, waiters } = await world.settled(client.admin.lock('a'));
    expect(holders.map(({ token }) => token)).toEqual([held.token]);
    expect(waiters.map(({ token }) => token)).toEqual([0]);
    expect(await world.settled(client.admin.lock('free'))).toMatchObject({ holders: [], waiters: [] });
  });

  it("tell the number of a lock's kind, of a later version, too", async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    expect(await world.settled(client.admin.lock('a'))).toMatchObject({ kind: 0 });
    ensemble.lockKind = 200;
    expect(await world.settled(client.admin.lock('a'))).toMatchObject({ kind: 200 });
  });

  it('refuse what is no session, and say when there is none of that id', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    expect(await world.rejection(client.admin.closeSession(0))).toBeInstanceOf(InvalidArgumentError);
    expect(await world.rejection(client.admin.closeSession(999_999))).toBeInstanceOf(NotFoundError);
  });
});
