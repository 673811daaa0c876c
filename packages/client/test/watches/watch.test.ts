import { ClientFeature, CLIENT_FEATURES } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { ClientClosedError, InvalidArgumentError, MissedEventsError, SessionExpiredError } from '../../src/errors.ts';
import {
  MAX_UNTAKEN_EVENTS,
  type NodeWatch,
  type NodeWatchEvent,
  type WatchOptions,
} from '../../src/watches/node-watch.ts';
import { scenario, type Scenario } from '../support/scenario.ts';
import type { TestWorld } from '../support/test-world.ts';

/** `created /a 101` for each event, and how the watch has ended. */
class Ear {
  readonly watch: NodeWatch;
  readonly heard: string[] = [];
  ended: unknown;

  constructor(watch: NodeWatch) {
    this.watch = watch;
    this.#listen().then(
      () => (this.ended = 'left'),
      (error: unknown) => (this.ended = error),
    );
  }

  async #listen(): Promise<void> {
    for await (const event of this.watch) this.heard.push(inWords(event));
  }
}

function inWords(event: NodeWatchEvent): string {
  return event.type === 'resync'
    ? `resync ${event.path} ${event.from}-${event.index}`
    : `${event.type} ${event.path} ${event.index}`;
}

async function watching(world: TestWorld, client: Client, path: string, options: WatchOptions = {}): Promise<Ear> {
  const ear = new Ear(client.nodes.watch(path, options));
  await world.settled(ear.watch.started);
  return ear;
}

/** A client that watches, another that changes nodes, and the index that it is at. */
async function pair(): Promise<
  Scenario & { readonly client: Client; readonly other: Client; readonly at: () => number }
> {
  const all = await scenario();
  const client = await all.connect();
  const other = await all.connect();
  return { ...all, client, other, at: () => all.ensemble.index };
}

function watchMessages({ ensemble }: Pick<Scenario, 'ensemble'>): { from: number; paths: string[] }[] {
  return ensemble.received.flatMap(({ message }) =>
    message.type === 'watch' ? [{ from: message.from, paths: message.nodes.map(({ path }) => path) }] : [],
  );
}

describe('a watch', () => {
  it('tells each change of a node and its children, in order, until the loop is left', async () => {
    const { world, ensemble, client, other } = await pair();
    const heard: string[] = [];
    const loop = (async () => {
      for await (const event of client.nodes.watch('/a')) {
        heard.push(inWords(event));
        if (event.type === 'deleted') break;
      }
    })();
    await world.until(() => ensemble.server(1).watches === 1);
    const from = ensemble.index;
    await world.settled(other.nodes.create('/a'));
    await world.settled(other.nodes.set('/a', 'x'));
    await world.settled(other.nodes.create('/a/b'));
    await world.settled(other.nodes.set('/a/b', 'y'));
    await world.settled(other.nodes.delete('/a'));
    await world.settled(loop);
    expect(heard).toEqual([
      `created /a ${from + 1}`,
      `changed /a ${from + 2}`,
      `children /a ${from + 3}`,
      `deleted /a ${from + 5}`,
    ]);
    await world.until(() => ensemble.server(1).watches === 0);
  });

  it('that is recursive tells of every node below, each at its own path', async () => {
    const { world, client, other, at } = await pair();
    const ear = await watching(world, client, '/a', { recursive: true });
    await world.settled(other.nodes.create('/a'));
    await world.settled(other.nodes.create('/a/b'));
    await world.settled(other.nodes.create('/ab'));
    await world.settled(other.nodes.set('/a/b', 'x'));
    await world.until(() => ear.heard.length === 3);
    expect(ear.heard).toEqual([`created /a ${at() - 3}`, `created /a/b ${at() - 2}`, `changed /a/b ${at()}`]);
  });

  it('tells of an own write before the write is answered', async () => {
    const { world, client } = await pair();
    const ear = await watching(world, client, '/a');
    let heardBefore: number | undefined;
    await world.settled(client.nodes.create('/a').then(() => (heardBefore = ear.heard.length)));
    expect(heardBefore).toBe(1);
  });

  it('is one at the server however many loops there are over it, and goes with the last', async () => {
    const { world, ensemble, client, other } = await pair();
    const [first, second] = [await watching(world, client, '/a'), await watching(world, client, '/a')];
    expect(ensemble.server(1).watches).toBe(1);
    await world.settled(other.nodes.create('/a'));
    await world.until(() => second.heard.length === 1);
    expect(second.heard).toEqual(first.heard);
    await first.watch.return();
    await world.settled(other.nodes.set('/a', 'x'));
    await world.until(() => second.heard.length === 2);
    expect(first.heard).toHaveLength(1);
    expect(ensemble.server(1).watches).toBe(1);
    await second.watch.return();
    await world.until(() => ensemble.server(1).watches === 0);
  });

  it('from an index tells what has happened since, and leaves other loops over the node alone', async () => {
    const { world, client, other } = await pair();
    const created = await world.settled(other.nodes.create('/a'));
    expect(created.path).toBe('/a');
    const ear = await watching(world, client, '/a');
    await world.settled(other.nodes.set('/a', '1'));
    await world.until(() => ear.heard.length === 1);
    const from = Number(ear.heard[0]?.split(' ').at(-1));
    const again = await watching(world, client, '/a', { from: from - 1 });
    await world.until(() => again.heard.length === 1);
    await world.settled(other.nodes.set('/a', '2'));
    await world.until(() => again.heard.length === 2 && ear.heard.length === 2);
    expect(again.heard).toEqual(ear.heard);
  });

  it('from an earlier index than one that is being asked for tells each change once, both in order', async () => {
    const { world, client, other, at } = await pair();
    await world.settled(other.nodes.create('/a'));
    const indexes: number[] = [];
    for (const data of ['1', '2', '3', '4']) {
      await world.settled(other.nodes.set('/a', data));
      indexes.push(at());
    }
    const [first = 0, second = 0] = indexes;
    const later = new Ear(client.nodes.watch('/a', { from: second }));
    const earlier = new Ear(client.nodes.watch('/a', { from: first - 1 }));
    expect(await world.settled(later.watch.started)).toBe(second);
    expect(await world.settled(earlier.watch.started)).toBe(first - 1);
    await world.settled(other.nodes.set('/a', '5'));
    indexes.push(at());
    await world.until(() => later.heard.length >= 3 && earlier.heard.length >= 5);
    expect(earlier.heard).toEqual(indexes.map((index) => `changed /a ${index}`));
    expect(later.heard).toEqual(earlier.heard.slice(2));
  });

  it('that is left before it has started is none at the server', async () => {
    const { world, ensemble, client } = await pair();
    const left = client.nodes.watch('/a');
    await left.return();
    expect(await world.rejection(left.started)).toBeInstanceOf(ClientClosedError);
    expect((await left.next()).done).toBe(true);
    await world.sleep(50);
    expect(ensemble.server(1).watches).toBe(0);
    const ear = await watching(world, client, '/a');
    expect(ear.ended).toBeUndefined();
    expect(ensemble.server(1).watches).toBe(1);
  });

  it('ends with its signal, and throws its reason', async () => {
    const { world, ensemble, client } = await pair();
    const abort = new AbortController();
    const ear = await watching(world, client, '/a', { signal: abort.signal });
    abort.abort(new Error('enough'));
    await world.until(() => ear.ended !== undefined && ensemble.server(1).watches === 0);
    expect(ear.ended).toEqual(new Error('enough'));
    expect(() => client.nodes.watch('/a', { signal: abort.signal })).toThrow('enough');
  });

  it('ends with its client', async () => {
    const { world, ensemble, client, other } = await pair();
    const [closed, expired] = [await watching(world, client, '/a'), await watching(world, other, '/a')];
    await world.settled(client.close());
    expect(closed.ended).toBeInstanceOf(ClientClosedError);
    ensemble.endSession(other.sessionId, 'expired');
    await world.until(() => expired.ended !== undefined);
    expect(expired.ended).toBeInstanceOf(SessionExpiredError);
    expect(() => client.nodes.watch('/a')).toThrow(ClientClosedError);
  });
});

describe('a watch over the loss of its server', () => {
  it('goes on at the next one without losing an event or telling one twice, all watches in one message', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    const ears = [
      await watching(world, client, '/', { recursive: true }),
      await watching(world, client, '/a'),
      await watching(world, client, '/b'),
    ];
    await world.settled(other.nodes.create('/a'));
    await world.until(() => ears[0]?.heard.length === 1);
    const told = ensemble.index;
    const before = watchMessages(all).length;
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.settled(other.nodes.set('/a', 'x'));
    await world.settled(other.nodes.create('/b'));
    await world.until(() => client.state === 'connected' && ears[2]?.heard.length === 1);
    expect(watchMessages(all).slice(before)).toEqual([{ from: told, paths: ['/', '/a', '/b'] }]);
    await world.settled(other.nodes.delete('/a'));
    await world.until(() => ears[0]?.heard.length === 4);
    const words = ears.map(({ heard }) => heard.map((text) => text.replace(/ \d+$/, '')));
    expect(words).toEqual([
      ['created /a', 'changed /a', 'created /b', 'deleted /a'],
      ['created /a', 'changed /a', 'deleted /a'],
      ['created /b'],
    ]);
  });

  it('goes on from what renewals say, when nothing has happened for long', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    await watching(world, client, '/a');
    for (let n = 0; n < 5; n += 1) await world.settled(other.nodes.create(`/other-${n}`));
    await world.sleep(8_000);
    const { index } = ensemble;
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.until(() => watchMessages(all).length === 2);
    expect(watchMessages(all).at(-1)?.from).toBe(index);
  });

  it('goes on from where it was told, whatever a connection has shown that did not confirm it', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    const ear = await watching(world, client, '/a');
    await world.settled(other.nodes.create('/a'));
    await world.until(() => ear.heard.length === 1);
    const told = ensemble.index;
    for (const server of ensemble.servers) server.hook = ({ type }) => (type === 'watch' ? 'ignore' : 'handle');
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.settled(other.nodes.set('/a', 'x'));
    await world.until(() => client.state === 'connected');
    await world.settled(client.nodes.get('/a'));
    for (const server of ensemble.servers) server.hook = () => 'handle';
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.until(() => ear.heard.length === 2);
    expect(watchMessages(all).map(({ from }) => from)).toEqual([0, told, told]);
  });

  it('asks again at a server that has not come up to where it was told', async () => {
    const { world, ensemble, client, other } = await pair();
    const ear = await watching(world, client, '/a');
    await world.settled(other.nodes.create('/a'));
    await world.until(() => ear.heard.length === 1);
    const { index } = ensemble;
    ensemble.index = index - 50;
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.sleep(1_000);
    expect(ensemble.servers.every(({ watches }) => watches === 0)).toBe(true);
    ensemble.index = index + 1;
    await world.until(() => ensemble.servers.some(({ watches }) => watches === 1));
    await world.settled(other.nodes.set('/a', 'x'));
    await world.until(() => ear.heard.length === 2);
    expect(ear.ended).toBeUndefined();
  });

  it('says so when the servers remember no more what happened: the watch is over', async () => {
    const { world, ensemble, client, other } = await pair();
    const [recursive, single] = [
      await watching(world, client, '/', { recursive: true }),
      await watching(world, client, '/a'),
    ];
    await world.settled(other.nodes.create('/a'));
    await world.until(() => recursive.heard.length === 1);
    const from = ensemble.index;
    for (const server of ensemble.servers) server.historyBegin = Infinity;
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.settled(other.nodes.create('/b'));
    await world.until(() => recursive.ended !== undefined);
    expect(recursive.ended).toBeInstanceOf(MissedEventsError);
    expect(recursive.ended).toMatchObject({ code: 'MISSED_EVENTS', path: '/', from, retryable: false });
    expect(recursive.heard).toHaveLength(1);
    await world.settled(other.nodes.set('/a', 'x'));
    await world.until(() => single.heard.length === 2);
    await world.until(() => ensemble.servers.reduce((sum, { watches }) => sum + watches, 0) === 1);
  });

  it('says so and goes on, if that is asked for', async () => {
    const { world, ensemble, client, other } = await pair();
    const ear = await watching(world, client, '/', { recursive: true, onMissed: 'resync' });
    await world.settled(other.nodes.create('/a'));
    await world.until(() => ear.heard.length === 1);
    const from = ensemble.index;
    for (const server of ensemble.servers) server.historyBegin = Infinity;
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.settled(other.nodes.create('/b'));
    await world.until(() => ear.heard.length === 2);
    expect(ear.heard[1]).toMatch(new RegExp(`^resync / ${from}-\\d+$`));
    await world.settled(other.nodes.set('/a', 'x'));
    await world.until(() => ear.heard.length === 3);
    expect(ear.heard[2]).toBe(`changed /a ${ensemble.index}`);
  });

  it('waits, once it has started, for a server that knows watches', async () => {
    const { world, ensemble, client, other } = await pair();
    const ear = await watching(world, client, '/a');
    for (const server of ensemble.servers) server.features = CLIENT_FEATURES - ClientFeature.watches;
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.until(() => client.state === 'connected');
    await world.settled(other.nodes.create('/a'));
    expect(ear.heard).toEqual([]);
    expect(await world.rejection(client.nodes.watch('/b').started)).toMatchObject({ code: 'UNSUPPORTED' });
    for (const server of ensemble.servers) server.features = CLIENT_FEATURES;
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.until(() => ear.heard.length === 1);
  });
});

describe('a watch that nobody takes the events of', () => {
  it('keeps a bounded number, and then says that it has missed some', async () => {
    const { world, ensemble, client, other } = await pair();
    const watches = (['error', 'resync'] as const).map((onMissed) => client.nodes.watch('/a', { onMissed }));
    await world.settled(watches[1]?.started ?? Promise.resolve(0));
    await world.settled(other.nodes.create('/a'));
    const from = ensemble.index - 1;
    let last = 0;
    for (let n = 0; n < MAX_UNTAKEN_EVENTS; n += 1) {
      ensemble.index += 1;
      last = ensemble.index;
      for (const server of ensemble.servers) server.tell(last, [{ type: 'changed', path: '/a', index: last }]);
    }
    await world.sleep(10);
    const [failing, resyncing] = watches;
    expect(await world.rejection(failing?.next() ?? Promise.resolve())).toMatchObject({ code: 'MISSED_EVENTS', from });
    const resync = await world.settled(resyncing?.next() ?? Promise.reject(new Error('none')));
    expect(resync.value).toEqual({ type: 'resync', path: '/a', from, index: last });
  });
});

describe('what cannot be watched', () => {
  it.each(['a', '/a/', '//', '/a/../b', '/\u0000'])('is refused before anything is sent: the path %j', async (path) => {
    const { ensemble, client } = await pair();
    expect(() => client.nodes.watch(path)).toThrow(InvalidArgumentError);
    expect(ensemble.count('watch')).toBe(0);
  });

  it('is refused: options that are none, and values that they cannot have', async () => {
    const { client } = await pair();
    expect(() => client.nodes.watch('/a', { recursiv: true } as WatchOptions)).toThrow(/did you mean recursive/);
    for (const from of [0, -1, 1.5, Number.NaN]) {
      expect(() => client.nodes.watch('/a', { from })).toThrow(/must be an index/);
    }
    expect(() => client.nodes.watch('/a', { onMissed: 'ignore' as 'error' })).toThrow(/'error' or 'resync'/);
  });

  it('is refused in the end: an index that no server has come to', async () => {
    const { world, ensemble, client } = await pair();
    const watch = client.nodes.watch('/a', { from: ensemble.index + 1_000, timeoutMs: 500 });
    expect(await world.rejection(watch.started)).toMatchObject({ code: 'NOT_CAUGHT_UP' });
    expect(await world.rejection(watch.next())).toMatchObject({ code: 'NOT_CAUGHT_UP' });
  });
});
