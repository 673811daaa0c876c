import type { ServerMessage } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { InvalidArgumentError, TimeoutError } from '../../src/errors.ts';
import type { NodeWatch } from '../../src/watches/node-watch.ts';
import type { ReadAndWatchOptions } from '../../src/watches/read-and-watch.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

/** A client that watches, and another that changes nodes. */
async function pair(): Promise<Scenario & { readonly client: Client; readonly other: Client }> {
  const all = await scenario();
  return { ...all, client: await all.connect(), other: await all.connect() };
}

/** `changed /a 7` for each event, which come as they are told. */
function heard(events: NodeWatch): string[] {
  const words: string[] = [];
  void (async () => {
    for await (const { type, path, index } of events) words.push(`${type} ${path} ${index}`);
  })();
  return words;
}

function textOf(data: Uint8Array | undefined): string {
  return new TextDecoder().decode(data);
}

function sent({ ensemble }: Pick<Scenario, 'ensemble'>): string[] {
  return ensemble.received.flatMap(({ message }) => {
    if (message.type === 'read') return [`read ${message.query.type}`];
    if (message.type !== 'watch') return [];
    return [`watch ${message.read?.query.type ?? 'alone'}`];
  });
}

describe('a node that is read and watched', () => {
  it('comes in one message, and tells what happens behind its index', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    await world.settled(other.nodes.create('/a', 'one'));
    const { node, index, events } = await world.settled(client.nodes.getAndWatch('/a'));
    expect([textOf(node?.data), index]).toEqual(['one', ensemble.index]);
    expect(sent(all)).toEqual(['watch get']);
    const words = heard(events);
    await world.settled(other.nodes.set('/a', 'two'));
    await world.until(() => words.length === 1);
    expect(words).toEqual([`changed /a ${index + 1}`]);
    await events.return();
    await world.until(() => ensemble.server(1).watches === 0);
  });

  it('may be missing: it is watched until it comes', async () => {
    const { world, client, other } = await pair();
    const { node, index, events } = await world.settled(client.nodes.getAndWatch('/a', { consistency: 'session' }));
    expect(node).toBeUndefined();
    const words = heard(events);
    await world.settled(other.nodes.create('/a'));
    await world.until(() => words.length === 1);
    expect(words).toEqual([`created /a ${index + 1}`]);
  });

  it('shares the watch that there is, and tells nothing that it shows already', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    const first = await world.settled(client.nodes.getAndWatch('/a'));
    const before = heard(first.events);
    // What the second one asks for is answered late: behind a change that its answer shows.
    let answer: (() => void) | undefined;
    const server = ensemble.serverOf(client.sessionId);
    server.hook = (message) => {
      if (message.type !== 'read') return 'handle';
      answer = () => server.disconnectAll();
      return 'ignore';
    };
    const asked = client.nodes.getAndWatch('/a');
    await world.until(() => answer !== undefined);
    server.hook = () => 'handle';
    await world.settled(other.nodes.create('/a', 'one'));
    await world.until(() => before.length === 1);
    answer?.();
    const { node, index, events } = await world.settled(asked);
    expect(textOf(node?.data)).toBe('one');
    const words = heard(events);
    await world.settled(other.nodes.set('/a', 'two'));
    await world.until(() => words.length === 1 && before.length === 2);
    expect(words).toEqual([`changed /a ${ensemble.index}`]);
    expect(index).toBeLessThan(ensemble.index);
    expect(sent(all).filter((each) => each === 'watch get')).toHaveLength(1);
  });

  it('is asked for anew when its server is lost before it has answered, and tells nothing that it shows already', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    await world.settled(other.nodes.create('/a', 'one'));
    for (const server of ensemble.servers) server.hook = ({ type }) => (type === 'watch' ? 'ignore' : 'handle');
    const asked = client.nodes.getAndWatch('/a');
    await world.until(() => sent(all).length === 1);
    await world.settled(other.nodes.set('/a', 'two'));
    for (const server of ensemble.servers) server.hook = () => 'handle';
    ensemble.serverOf(client.sessionId).disconnectAll();
    const { node, events } = await world.settled(asked);
    expect(textOf(node?.data)).toBe('two');
    expect(sent(all)).toEqual(['watch get', 'watch get']);
    const words = heard(events);
    await world.settled(other.nodes.set('/a', 'three'));
    await world.until(() => words.length === 1);
    expect(words).toEqual([`changed /a ${ensemble.index}`]);
  });

  it('goes on at the next server, without being read again', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    await world.settled(other.nodes.create('/a', 'one'));
    const { events } = await world.settled(client.nodes.getAndWatch('/a'));
    const words = heard(events);
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.settled(other.nodes.set('/a', 'two'));
    await world.until(() => words.length === 1);
    expect(words).toEqual([expect.stringMatching(/^changed \/a \d+$/)]);
    expect(sent(all)).toEqual(['watch get', 'watch alone']);
  });

  it('is asked for again while no leader confirms what is committed', async () => {
    const all = await pair();
    const { world, ensemble, client } = all;
    let refusals = 2;
    for (const server of ensemble.servers) {
      server.hook = (message) => {
        if (message.type !== 'watch' || refusals === 0) return 'handle';
        refusals -= 1;
        const refused: ServerMessage = { type: 'watch-refused', id: message.id, code: 'NO_LEADER', message: 'none' };
        server.broadcast(refused);
        return 'ignore';
      };
    }
    const { node } = await world.settled(client.nodes.getAndWatch('/a'));
    expect(node).toBeUndefined();
    expect(sent(all)).toEqual(['watch get', 'watch get', 'watch get']);
  });

  it('is watched no more when the call fails', async () => {
    const { world, ensemble, client } = await pair();
    for (const server of ensemble.servers) server.hook = ({ type }) => (type === 'watch' ? 'ignore' : 'handle');
    const error = await world.rejection(client.nodes.getAndWatch('/a', { timeoutMs: 200 }));
    expect(error).toBeInstanceOf(TimeoutError);
    for (const server of ensemble.servers) server.hook = () => 'handle';
    ensemble.serverOf(client.sessionId).disconnectAll();
    await world.sleep(500);
    expect(ensemble.servers.reduce((sum, { watches }) => sum + watches, 0)).toBe(0);
  });
});

describe('children that are read and watched', () => {
  it('come in one message, and tell who comes and goes', async () => {
    const all = await pair();
    const { world, client, other } = all;
    await world.settled(other.nodes.create('/b'));
    await world.settled(other.nodes.create('/a'));
    const { names, stat, index, events } = await world.settled(client.nodes.childrenAndWatch('/'));
    expect(names).toEqual(['a', 'b']);
    expect(stat).toBeDefined();
    expect(sent(all)).toEqual(['watch children']);
    const words = heard(events);
    await world.settled(other.nodes.delete('/a'));
    await world.until(() => words.length === 1);
    expect(words).toEqual([`children / ${index + 1}`]);
  });

  it('are gathered by pages where they are too many for one answer', async () => {
    const all = await pair();
    const { world, ensemble, client, other } = all;
    const made = ['/a', '/b', '/c', '/d', '/e'];
    for (const path of made) await world.settled(other.nodes.create(path));
    ensemble.pageEntries = 2;
    const { names } = await world.settled(client.nodes.childrenAndWatch('/'));
    expect(names).toEqual(made.map((path) => path.slice(1)));
    expect(sent(all)).toEqual(['watch children', ...Array.from({ length: 3 }, () => 'read childrenPage')]);
  });
});

describe('what cannot be read and watched', () => {
  it.each<[string, object, RegExp]>([
    ['what the server has', { consistency: 'local' }, /must be 'linearizable' or 'session'/],
    ['from elsewhere', { from: 7 }, /from/],
    ['a misspelt option', { consistensy: 'session' }, /did you mean consistency/],
    ['loss otherwise', { onMissed: 'ignore' }, /'error' or 'resync'/],
  ])('is refused before anything is sent: %s', async (_, options, problem) => {
    const { world, ensemble, client } = await pair();
    for (const call of ['getAndWatch', 'childrenAndWatch'] as const) {
      const error = await world.rejection(client.nodes[call]('/a', options as ReadAndWatchOptions));
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toMatch(problem);
    }
    expect(ensemble.count('watch')).toBe(0);
  });

  it('is refused before anything is sent: a malformed path', async () => {
    const { world, client } = await pair();
    expect(await world.rejection(client.nodes.getAndWatch('a'))).toBeInstanceOf(InvalidArgumentError);
    expect(await world.rejection(client.nodes.childrenAndWatch('/a/'))).toBeInstanceOf(InvalidArgumentError);
  });
});
