import type { ClientMessage, Query, ServerMessage } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { MAX_UNANSWERED_READS } from '../../src/limits.ts';
import { scene, type Watching } from '../watches/support/watching.ts';

type WatchMessage = Extract<ClientMessage, { type: 'watch' }>;
type Asking = Pick<NonNullable<WatchMessage['read']>, 'query'> & Partial<WatchMessage['read']> & Partial<WatchMessage>;

/** Watches a node, and reads in the same message. */
function ask({ client }: Watching, { query, consistency = 'local', ...others }: Asking): void {
  const nodes = [{ kind: 'persistent', path: 'path' in query ? query.path : '/a', existed: true }] as const;
  client.send({ type: 'watch', id: 1, from: 0, minIndex: 0, nodes, read: { consistency, query }, ...others });
}

function watchings(messages: readonly ServerMessage[]): Extract<ServerMessage, { type: 'watching' }>[] {
  return messages.filter((message) => message.type === 'watching');
}

const GET: Query = { type: 'get', path: '/a' };

describe('a watch with a read', () => {
  it('is answered at the index from which it tells, and from then on it tells', () => {
    const { changing, watcher } = scene();
    const index = changing.create('/a');
    const client = watcher();
    ask(client, { query: GET });
    expect(client.client.take()).toMatchObject([
      { type: 'watching', index, answer: { type: 'get', stat: { mzxid: index, version: 0 } } },
    ]);
    const next = changing.set('/a');
    expect(client.heard()).toEqual([`changed /a ${next}`]);
  });

  it('watches a node that is missing as well, and says so', () => {
    const { changing, watcher } = scene();
    const client = watcher();
    ask(client, { query: GET });
    expect(client.client.take()).toMatchObject([{ type: 'watching', answer: { type: 'error', code: 'NOT_FOUND' } }]);
    const index = changing.create('/a');
    expect(client.heard()).toEqual([`created /a ${index}`]);
  });

  it.each<[string, Query, object]>([
    ['stat', { type: 'exists', path: '/a' }, { type: 'exists', stat: { numChildren: 2 } }],
    ['children', { type: 'children', path: '/a' }, { type: 'children', names: ['b', 'c'] }],
    [
      'first page of children',
      { type: 'childrenPage', path: '/a', after: '', limit: 1 },
      { type: 'childrenPage', names: ['b'], more: true },
    ],
  ])('may be one of the %s', (_, query, answer) => {
    const { changing, watcher } = scene();
    for (const path of ['/a', '/a/b', '/a/c']) changing.create(path);
    const client = watcher();
    ask(client, { query });
    expect(client.client.take()).toMatchObject([{ type: 'watching', answer }]);
  });

  it('tells the past first, when it is to', () => {
    const { changing, watcher } = scene();
    const from = changing.create('/a');
    const index = changing.set('/a');
    const client = watcher();
    ask(client, { query: GET, from });
    expect(client.client.take()).toMatchObject([
      { type: 'events', id: 1, through: index, events: [{ type: 'changed', path: '/a' }] },
      { type: 'watching', index, answer: { stat: { version: 1 } } },
    ]);
  });

  it('begins where a linearizable read would be answered, behind all that was committed before', () => {
    const { ensemble, changing, watcher } = scene({ servers: 3 });
    const client = watcher(2);
    ensemble.server(2).lagging = true;
    const index = changing.create('/a');
    ask(client, { query: GET, consistency: 'linearizable' });
    expect(client.client.take()).toEqual([]);
    ensemble.server(2).lagging = false;
    ensemble.server(2).schedule();
    const told = client.client.take();
    expect(watchings(told)).toMatchObject([{ index, answer: { stat: { czxid: index } } }]);
    // It did not watch before.
    expect(told).toHaveLength(1);
  });

  it('watches when its turn among reads comes, and not before', () => {
    const { ensemble, changing, watcher, server } = scene();
    changing.create('/a');
    const entries = 6;
    for (let n = 0; n < entries; n += 1) changing.create(`/a/${n}`);
    const client = watcher();
    const { machine } = server;
    ask(client, { query: { type: 'childrenPage', path: '/a', after: '', limit: 1_000 } });
    expect(machine.watches.size).toBe(0);
    ensemble.clock.runChecks();
    expect(machine.watches.size).toBe(1);
    expect(watchings(client.client.take())).toMatchObject([{ answer: { names: { length: entries } } }]);
  });

  it('is nothing at a connection that was closed meanwhile', () => {
    const { watcher, server, ensemble } = scene();
    const client = watcher();
    ask(client, { query: GET });
    client.client.drop();
    ensemble.clock.runChecks();
    expect(server.machine.watches.size).toBe(0);
  });
});

describe('a watch with a read that cannot be', () => {
  function refusal(client: Watching): object | undefined {
    return client.client.take().find(({ type }) => type === 'watch-refused');
  }

  it.each<[string, Query]>([
    ['verify', { type: 'verify', lock: 'l', acquireIndex: 1 }],
    ['descendants', { type: 'descendants', path: '/a' }],
    ['sessions', { type: 'sessions', after: 0, limit: 1 }],
  ])('is refused whole: a query %s', (type, query) => {
    const { watcher, server } = scene();
    const client = watcher();
    ask(client, { query });
    expect(refusal(client)).toEqual({
      type: 'watch-refused',
      id: 1,
      code: 'INVALID_ARGUMENT',
      message: `${type} is no read of a watched node; ask for get, exists, children, childrenPage, or ask by itself`,
    });
    expect(server.machine.watches.size).toBe(0);
  });

  it('is refused whole: of a node that it does not watch', () => {
    const { watcher, server } = scene();
    const client = watcher();
    ask(client, { query: GET, nodes: [{ kind: 'persistent', path: '/b', existed: true }] });
    expect(refusal(client)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'the read is of "/a", which the message does not watch; read a node that it watches',
    });
    expect(server.machine.watches.size).toBe(0);
  });

  it('is refused whole: where a read would be, with its reason', () => {
    const { watcher, server } = scene();
    const client = watcher();
    for (let id = 1; id <= MAX_UNANSWERED_READS; id += 1) client.client.read(id, GET);
    ask(client, { query: GET });
    expect(refusal(client)).toMatchObject({ code: 'OVERLOADED', message: expect.stringContaining('wait for answers') });
    expect(server.machine.watches.size).toBe(0);
  });

  it('is refused whole: behind an index that is not reached', () => {
    const { watcher, ensemble } = scene();
    const client = watcher();
    ask(client, { query: GET, minIndex: 1_000_000 });
    expect(client.client.take()).toEqual([]);
    ensemble.clock.advance(1_000);
    expect(refusal(client)).toMatchObject({ code: 'NOT_CAUGHT_UP' });
  });
});
