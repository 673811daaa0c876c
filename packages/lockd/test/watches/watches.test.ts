import { MAX_WATCHES_A_MESSAGE, MAX_WATCHES_PER_CONNECTION, PROTOCOL_VERSION } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { CLUSTER_ID } from '../support/loopback.ts';
import { Watching, inWords, scene } from './support/watching.ts';

describe('a watch', () => {
  it('of one change of a node tells it and is over', () => {
    const { changing, watcher } = scene();
    changing.create('/a');
    const client = watcher();
    expect(client.watch([['data', '/a']])).toEqual([expect.stringMatching(/^watching 1 /)]);
    const index = changing.set('/a');
    expect(client.heard()).toEqual([`changed /a ${index}`]);
    changing.set('/a');
    expect(client.heard()).toEqual([]);
  });

  it('of one change of the children tells a child that comes or goes, or the end of the node', () => {
    const { changing, watcher } = scene();
    changing.create('/a');
    const [first, second] = [watcher(), watcher()];
    for (const client of [first, second]) client.watch([['children', '/a']]);
    changing.set('/a');
    expect(first.heard()).toEqual([]);
    const index = changing.create('/a/b');
    expect(first.heard()).toEqual([`children /a ${index}`]);
    expect(second.heard()).toEqual([`children /a ${index}`]);
    second.watch([['children', '/a/b']]);
    expect(changing.delete('/a/b')).toBe(index + 1);
    expect(second.heard()).toEqual([`deleted /a/b ${index + 1}`]);
  });

  it('of a node that is missing tells that it is created', () => {
    const { changing, watcher } = scene();
    const [once, persistent] = [watcher(), watcher()];
    once.watch([['data', '/a']]);
    persistent.watch([['persistent', '/a']]);
    const index = changing.create('/a');
    expect(once.heard()).toEqual([`created /a ${index}`]);
    expect(persistent.heard()).toEqual([`created /a ${index}`]);
    changing.set('/a');
    expect(once.heard()).toEqual([]);
    expect(persistent.heard()).toEqual([`changed /a ${index + 1}`]);
  });

  it('that is persistent tells every change of the node and its children, and lives through its deletion', () => {
    const { changing, watcher } = scene();
    const from = changing.create('/a');
    const client = watcher();
    client.watch([['persistent', '/a']]);
    changing.set('/a');
    changing.create('/a/b');
    changing.set('/a/b');
    changing.delete('/a/b');
    changing.delete('/a');
    // It has the slot that the deleted one had.
    changing.create('/z');
    changing.create('/a');
    changing.create('/a/c');
    const told = [
      'changed /a',
      'children /a',
      undefined,
      'children /a',
      'deleted /a',
      undefined,
      'created /a',
      'children /a',
    ];
    expect(client.heard()).toEqual(
      told.flatMap((text, at) => (text === undefined ? [] : [`${text} ${from + at + 1}`])),
    );
  });

  it('that is recursive tells every change of the node and all below it, and nothing of children', () => {
    const { changing, watcher } = scene();
    const from = changing.create('/a');
    const client = watcher();
    client.watch([['recursive', '/a']]);
    changing.create('/a/b');
    changing.create('/a/b/c');
    changing.set('/a/b/c');
    changing.create('/ab');
    changing.delete('/a/b/c');
    changing.delete('/a/b');
    changing.delete('/a');
    changing.create('/a');
    changing.create('/a/d');
    const told = [
      'created /a/b',
      'created /a/b/c',
      'changed /a/b/c',
      undefined,
      'deleted /a/b/c',
      'deleted /a/b',
      'deleted /a',
      'created /a',
      'created /a/d',
    ];
    expect(client.heard()).toEqual(
      told.flatMap((text, at) => (text === undefined ? [] : [`${text} ${from + at + 1}`])),
    );
  });

  it('of the root tells what every lock does', () => {
    const { changing, watcher } = scene();
    const client = watcher();
    client.watch([['recursive', '/']]);
    const index = changing.acquire('l');
    expect(client.heard()).toEqual([
      `created /holdfast/locks/l ${index}`,
      `created /holdfast/locks/l/q-0000000000 ${index}`,
      `changed /holdfast/locks/l/q-0000000000 ${index}`,
    ]);
  });

  it('tells a change once, in however many ways the connection watches it', () => {
    const { changing, watcher } = scene();
    changing.create('/a');
    changing.create('/a/b');
    const client = watcher();
    client.watch([
      ['data', '/a/b'],
      ['children', '/a/b'],
      ['persistent', '/a/b'],
      ['recursive', '/a/b'],
      ['recursive', '/a'],
      ['recursive', '/'],
      ['children', '/a'],
      ['persistent', '/a'],
    ]);
    const index = changing.delete('/a/b');
    expect(client.heard()).toEqual([`deleted /a/b ${index}`, `children /a ${index}`]);
  });

  it('tells in one message what one entry does, and of the children of a node once', () => {
    const { changing, watcher, server } = scene();
    const session = server.connect();
    session.attach(7);
    for (const [number, name] of ['a', 'b', 'c'].entries()) {
      session.request(number + 1, { type: 'create', path: `/${name}`, data: new Uint8Array(), mode: 1 });
    }
    session.take();
    const client = watcher();
    client.watch([
      ['persistent', '/'],
      ['recursive', '/'],
    ]);
    session.request(4, { type: 'closeSession', session: 0 });
    session.take();
    const messages = client.client.take();
    expect(messages.map(({ type }) => type)).toEqual(['events']);
    expect(inWords(messages).map((text) => text.replace(/ \d+$/, ''))).toEqual([
      'deleted /a',
      'children /',
      'deleted /b',
      'deleted /c',
    ]);
    changing.create('/d');
    expect(client.heard()).toHaveLength(2);
  });

  it('tells of a change before the reply and before any read that shows it', () => {
    const { watcher } = scene();
    const { client, ...rest } = watcher();
    expect(rest).toBeDefined();
    client.attach(5);
    const watching = new Watching(client);
    watching.watch([['persistent', '/a']]);
    client.request(1, { type: 'create', path: '/a', data: new Uint8Array(), mode: 0 });
    client.read(1, { type: 'exists', path: '/a' });
    expect(client.take().map(({ type }) => type)).toEqual(['events', 'reply', 'answer']);
    expect(client.frames).toEqual([]);
  });

  it('ends with its connection, and when it is asked to', () => {
    const { changing, watcher, server } = scene();
    const [gone, client] = [watcher(), watcher()];
    for (const each of [gone, client])
      each.watch([
        ['persistent', '/a'],
        ['recursive', '/'],
      ]);
    expect(server.machine.watches.size).toBe(4);
    gone.client.drop();
    expect(server.machine.watches.size).toBe(2);
    expect(client.unwatch(['persistent', '/a'])).toEqual(['unwatched 2']);
    const index = changing.create('/a');
    expect(client.heard()).toEqual([`created /a ${index}`]);
    expect(client.unwatch(['recursive', '/'])).toEqual(['unwatched 3']);
    expect(server.machine.watches.size).toBe(0);
    changing.set('/a');
    expect(client.heard()).toEqual([]);
  });

  it('is answered with what is there when it begins', () => {
    const { changing, watcher } = scene();
    const index = changing.create('/a');
    const { client } = watcher();
    const nodes = ['/a', '/b', '/'].map((path) => ({ kind: 'persistent' as const, path, existed: true }));
    client.send({ type: 'watch', id: 9, from: 0, minIndex: 0, nodes });
    const [watching] = client.take();
    expect(watching).toMatchObject({ type: 'watching', id: 9, index });
    expect(watching?.type === 'watching' && [...watching.existing]).toEqual([0b101]);
  });

  it('begins at a server that has applied what its client has seen, and waits for that', () => {
    const { ensemble, changing, watcher } = scene({ servers: 2 });
    const client = watcher(2);
    ensemble.server(2).lagging = true;
    const index = changing.create('/a');
    client.send([['persistent', '/a']], { minIndex: index });
    expect(client.heard()).toEqual([]);
    ensemble.server(2).lagging = false;
    ensemble.server(2).schedule();
    expect(client.heard()).toEqual([`watching 1 ${index}`]);
  });
});

describe('a renewal', () => {
  it('says up to where everything was told, to those who watch', () => {
    const { changing, watcher } = scene();
    const client = watcher();
    client.client.attach(5);
    client.client.heartbeat(1);
    expect(client.client.take()).toEqual([{ type: 'renewed', id: 1 }]);
    client.watch([['persistent', '/a']]);
    const index = changing.create('/b');
    client.client.heartbeat(2);
    expect(client.client.take()).toEqual([{ type: 'renewed', id: 2, through: index }]);
  });
});

describe('what is no watch', () => {
  const malformed = ['a', '/a/', '//', '/a/../b', '/\u0000', ''];

  it.each(malformed)('is refused: the path %j', (path) => {
    const { watcher } = scene();
    const client = watcher();
    expect(client.watch([['data', path]])).toEqual(['refused 1 INVALID_ARGUMENT']);
    expect(client.unwatch(['data', path])).toEqual(['refused 2 INVALID_ARGUMENT']);
  });

  it('is refused: the same twice, in one message or two, and all that is in the message with it', () => {
    const { watcher, server } = scene();
    const client = watcher();
    expect(
      client.watch([
        ['data', '/a'],
        ['data', '/a'],
      ]),
    ).toEqual(['refused 1 INVALID_ARGUMENT']);
    expect(server.machine.watches.size).toBe(0);
    client.watch([['data', '/a']]);
    client.send([
      ['data', '/b'],
      ['data', '/a'],
    ]);
    const [refused] = client.client.take();
    expect(refused).toMatchObject({ type: 'watch-refused', code: 'INVALID_ARGUMENT' });
    expect(refused?.type === 'watch-refused' && refused.message).toMatch(/has a data watch on \/a already/);
    expect(server.machine.watches.size).toBe(1);
    expect(client.watch([['persistent', '/a']])).toEqual([expect.stringMatching('watching')]);
  });

  it('is refused: the end of what is not watched, or twice the same end', () => {
    const { watcher, server } = scene();
    const client = watcher();
    expect(client.unwatch(['data', '/a'])).toEqual(['refused 1 NOT_FOUND']);
    client.watch([['data', '/a']]);
    expect(client.unwatch(['persistent', '/a'])).toEqual(['refused 3 NOT_FOUND']);
    expect(client.unwatch(['data', '/a'], ['data', '/a'])).toEqual(['refused 4 NOT_FOUND']);
    expect(server.machine.watches.size).toBe(1);
    expect(client.unwatch(['data', '/a'])).toEqual(['unwatched 5']);
  });

  it('is refused after a moment: an index that is not reached', () => {
    const { ensemble, watcher } = scene();
    const client = watcher();
    client.send([['data', '/a']], { from: 1_000_000 });
    expect(client.heard()).toEqual([]);
    ensemble.clock.advance(1_000);
    const [refused] = client.client.take();
    expect(refused).toMatchObject({ type: 'watch-refused', code: 'NOT_CAUGHT_UP' });
    expect(refused?.type === 'watch-refused' && refused.message).toMatch(/has applied \d+, .* behind 1000000/);
  });

  it('is refused: the id that stands for all', () => {
    const { watcher } = scene();
    const { client } = watcher();
    client.send({ type: 'watch', id: 0, from: 0, minIndex: 0, nodes: [{ kind: 'data', path: '/a', existed: true }] });
    expect(inWords(client.take())).toEqual(['refused 0 INVALID_ARGUMENT']);
  });

  it('is refused: more nodes than a message may name, or longer paths', () => {
    const { watcher } = scene();
    const client = watcher();
    const many = Array.from({ length: MAX_WATCHES_A_MESSAGE + 1 }, (_, n) => ['data', `/${n}`] as const);
    expect(client.watch(many)).toEqual(['refused 1 LIMIT_EXCEEDED']);
    const long = Array.from({ length: 300 }, (_, n) => ['data', `/${'x'.repeat(1_000)}${n}`] as const);
    expect(client.watch(long)).toEqual(['refused 2 LIMIT_EXCEEDED']);
  });

  it('ends the connection of a client that has not offered to understand watches', () => {
    const { server } = scene();
    const client = server.connect();
    client.send({ type: 'unwatch', id: 1, nodes: [] });
    expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'UNSUPPORTED' }]);
  });
});

describe('watches of one connection', () => {
  it('are at most so many, of which long paths take several', () => {
    const { watcher, server } = scene();
    const client = watcher();
    for (let first = 0; first + 1_000 <= MAX_WATCHES_PER_CONNECTION; first += 1_000) {
      client.watch(Array.from({ length: 1_000 }, (_, n) => ['data', `/${first + n}`] as const));
    }
    expect(server.machine.watches.size).toBe(MAX_WATCHES_PER_CONNECTION);
    expect(client.watch([['data', '/more']])).toEqual([expect.stringMatching(/LIMIT_EXCEEDED$/)]);
    expect(client.unwatch(['data', '/7'])).toHaveLength(1);
    expect(client.watch([['data', `/${'x'.repeat(200)}`]])).toEqual([expect.stringMatching(/LIMIT_EXCEEDED$/)]);
    expect(client.watch([['data', `/more`]])).toEqual([expect.stringMatching(/^watching/)]);
    client.client.drop();
    expect(server.machine.watches.size).toBe(0);
  });
});

describe('a server of the present version', () => {
  it('serves a client that does not know watches as before', () => {
    const { server, changing } = scene();
    const client = server.dial();
    client.hello(CLUSTER_ID, PROTOCOL_VERSION, 0);
    client.take();
    changing.create('/a');
    expect(client.take()).toEqual([]);
  });
});
