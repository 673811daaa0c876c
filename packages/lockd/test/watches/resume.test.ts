import { describe, expect, it } from 'vitest';
import { MAX_UNREAD_EVENT_BYTES } from '../../src/limits.ts';
import { Watching, scene } from './support/watching.ts';

/** The least that a history keeps: one piece, which a few hundred changes fill. */
const SMALL = 1;

describe('a client that comes back', () => {
  it('is told at any server, by index, what has happened since it was told last', () => {
    const { ensemble, changing, watcher } = scene({ servers: 2 });
    changing.create('/a');
    const before = watcher(1);
    before.watch([['recursive', '/a']]);
    const from = changing.create('/a/b');
    expect(before.heard()).toEqual([`created /a/b ${from}`]);
    before.client.drop();
    changing.set('/a');
    changing.create('/x');
    changing.delete('/a/b');
    const after = watcher(2);
    const nodes = [
      ['recursive', '/a'],
      ['persistent', '/a'],
      ['data', '/x', false],
      ['children', '/a/b'],
    ] as const;
    expect(after.watch(nodes, { from })).toEqual([
      `1: changed /a ${from + 1}`,
      `1: created /x ${from + 2}`,
      `1: deleted /a/b ${from + 3}`,
      `1: children /a ${from + 3}`,
      `watching 1 ${from + 3}`,
    ]);
    // Both one-shot watches have told theirs.
    expect(ensemble.server(2).machine.watches.size).toBe(2);
    changing.set('/x');
    expect(after.heard()).toEqual([]);
    changing.create('/a/b');
    expect(after.heard()).toEqual([`created /a/b ${from + 5}`, `children /a ${from + 5}`]);
    expect(ensemble.server(2).machine.counters.watchesFromHistory).toBe(1);
  });

  it('is told nothing twice that was told before, and everything after it', () => {
    const { changing, watcher } = scene();
    const first = changing.create('/a');
    const last = [1, 2, 3, 4, 5].map(() => changing.set('/a')).at(-1);
    for (let from = first; from <= Number(last); from += 1) {
      const told = Array.from({ length: Number(last) - from }, (_, n) => `1: changed /a ${from + n + 1}`);
      expect(watcher().watch([['persistent', '/a']], { from })).toEqual([...told, `watching 1 ${last}`]);
    }
  });

  it('to a server that is behind waits until that has come up to it', () => {
    const { ensemble, changing, watcher } = scene({ servers: 2 });
    const client = watcher(2);
    ensemble.server(2).lagging = true;
    const from = changing.create('/a');
    changing.set('/a');
    client.send([['persistent', '/a']], { from });
    expect(client.heard()).toEqual([]);
    ensemble.server(2).lagging = false;
    ensemble.server(2).schedule();
    expect(client.heard()).toEqual([`1: changed /a ${from + 1}`, `watching 1 ${from + 1}`]);
  });

  it('waits without being counted when it is gone, and within a bound of memory', () => {
    const { watcher } = scene();
    const [gone, greedy] = [watcher(), watcher()];
    gone.send([['data', '/a']], { from: 1_000 });
    gone.client.drop();
    for (let n = 0; n < 200; n += 1) {
      greedy.send(
        Array.from({ length: 200 }, (_, k) => ['data', `/${'x'.repeat(900)}${n}-${k}`] as const),
        { from: 1_000 },
      );
    }
    const refused = greedy.heard();
    expect(new Set(refused.map((text) => text.replace(/\d+ /, '')))).toEqual(new Set(['refused OVERLOADED']));
    // Each takes some 390 kB.
    expect(refused.length).toBeGreaterThan(150);
  });

  it('behind the history is told what the nodes still show, and that recursive watches have missed the rest', () => {
    const { server, changing, watcher } = scene({ historyBytes: SMALL });
    for (const path of ['/kept', '/set', '/gone', '/again', '/parent']) changing.create(path);
    changing.create('/parent/old');
    const last = `/${'last'.repeat(100)}`;
    const from = changing.create(last);
    changing.set('/set');
    changing.delete('/gone');
    changing.delete('/again');
    changing.create('/again');
    changing.create('/new');
    changing.create('/parent/young');
    changing.set('/parent');
    for (let n = 0; n < 100; n += 1) changing.create(`${last}${n}`);
    const through = server.machine.state.appliedIndex;
    expect(server.machine.watches.history.begin).toBeGreaterThan(from);
    const client = watcher();
    const paths = ['/kept', '/set', '/gone', '/again', '/parent'];
    const nodes = [
      ...paths.map((path) => ['persistent', path] as const),
      ['data', '/new', false] as const,
      ['data', '/never', false] as const,
      ['children', '/again'] as const,
      ['recursive', '/parent'] as const,
    ];
    expect(client.watch(nodes, { from })).toEqual([
      `1: missed ${from} ${through}`,
      `1: changed /set ${through}`,
      `1: deleted /gone ${through}`,
      `1: created /again ${through}`,
      `1: changed /parent ${through}`,
      `1: children /parent ${through}`,
      `1: created /new ${through}`,
      `1: deleted /again ${through}`,
      `watching 1 ${through}`,
    ]);
    expect(server.machine.counters.watchesBehindHistory).toBe(1);
    changing.set('/parent/young');
    expect(client.heard()).toEqual([`changed /parent/young ${through + 1}`]);
    changing.create('/never');
    expect(client.heard()).toEqual([`created /never ${through + 2}`]);
  });

  it('to a server without a history is told the same, unless nothing has happened', () => {
    const { changing, watcher } = scene({ historyBytes: 0 });
    const from = changing.create('/a');
    expect(watcher().watch([['recursive', '/a']], { from })).toEqual([`watching 1 ${from}`]);
    const through = changing.set('/a');
    expect(watcher().watch([['recursive', '/a']], { from })).toEqual([
      `1: missed ${from} ${through}`,
      `watching 1 ${through}`,
    ]);
    expect(watcher().watch([['persistent', '/a']], { from })).toEqual([
      `1: changed /a ${through}`,
      `watching 1 ${through}`,
    ]);
  });

  it('to a server that has started from a snapshot finds its history to begin there', async () => {
    const { ensemble, changing, watcher } = scene({ servers: 2 });
    ensemble.server(2).lagging = true;
    const from = changing.create('/a');
    const through = changing.set('/a');
    await ensemble.server(2).install(ensemble.server(1));
    expect(watcher(2).watch([['recursive', '/']], { from })).toEqual([
      `1: missed ${from} ${through}`,
      `watching 1 ${through}`,
    ]);
    expect(watcher(2).watch([['recursive', '/']], { from: through })).toEqual([`watching 1 ${through}`]);
  });
});

describe('a snapshot that replaces the state of a server', () => {
  it('lets its watches go on at the nodes of the same paths, and tells what it has skipped as far as it shows', async () => {
    const { ensemble, changing, watcher } = scene({ servers: 2 });
    const follower = ensemble.server(2);
    for (const path of ['/kept', '/set', '/gone', '/again', '/parent']) changing.create(path);
    const client = watcher(2);
    client.watch([
      ...['/kept', '/set', '/gone', '/again', '/parent', '/new', '/never'].map((path) => ['persistent', path] as const),
      ['data', '/kept'],
    ]);
    follower.lagging = true;
    changing.delete('/gone');
    changing.delete('/again');
    // In the slots of those that are gone there are others now.
    for (const path of ['/other', '/one', '/again', '/new', '/parent/child']) changing.create(path);
    changing.set('/set');
    await follower.install(ensemble.server(1));
    const through = follower.machine.state.appliedIndex;
    const told = ['changed /set', 'deleted /gone', 'created /again', 'children /parent', 'created /new'];
    expect(client.heard().toSorted()).toEqual(told.map((text) => `${text} ${through}`).toSorted());
    follower.lagging = false;
    for (const path of ['/other', '/one', '/kept', '/again']) changing.set(path);
    changing.create('/gone');
    changing.delete('/new');
    expect(client.heard()).toEqual([
      `changed /kept ${through + 3}`,
      `changed /again ${through + 4}`,
      `created /gone ${through + 5}`,
      `deleted /new ${through + 6}`,
    ]);
    expect(follower.machine.counters.watchersOverSnapshot).toBe(1);
  });

  it('tells recursive watches that they have missed something, and nothing that was told before', async () => {
    const { ensemble, changing, watcher } = scene({ servers: 2 });
    const follower = ensemble.server(2);
    const from = changing.create('/a');
    const client = watcher(2);
    client.watch([
      ['recursive', '/a'],
      ['persistent', '/a'],
    ]);
    follower.lagging = true;
    changing.create('/b');
    await follower.install(ensemble.server(1));
    const through = follower.machine.state.appliedIndex;
    expect(client.heard()).toEqual([`missed ${from} ${through}`]);
    follower.lagging = false;
    changing.create('/a/b');
    expect(client.heard()).toEqual([`created /a/b ${through + 1}`, `children /a ${through + 1}`]);
  });
});

describe('a client that does not read what it is told', () => {
  it('is told nothing more, and when it has read what it has missed: no memory is taken for it', () => {
    const { ensemble, server, changing, watcher } = scene();
    changing.create('/a');
    changing.create('/b');
    let unread = 0;
    const client = watcher(1, { bufferedBytes: () => unread });
    client.client.attach(5);
    client.watch([
      ['persistent', '/a'],
      ['data', '/b'],
      ['persistent', '/c'],
      ['recursive', '/a'],
    ]);
    unread = MAX_UNREAD_EVENT_BYTES + 1;
    const from = changing.set('/a');
    expect(client.heard()).toEqual([`changed /a ${from}`]);
    expect(server.machine.watches.slow).toBe(1);
    changing.set('/a');
    changing.set('/b');
    changing.create('/c');
    const other = new Watching(client.client);
    other.send([['data', '/d']]);
    expect(client.heard()).toEqual(['refused 1 OVERLOADED']);
    client.client.heartbeat(1);
    expect(client.client.take()).toEqual([{ type: 'renewed', id: 1, through: from }]);
    ensemble.clock.advance(300);
    expect(client.heard()).toEqual([]);
    unread = 0;
    ensemble.clock.advance(300);
    const through = server.machine.state.appliedIndex;
    const [missed, ...told] = client.heard();
    expect(missed).toBe(`missed ${from} ${through}`);
    expect(told.toSorted()).toEqual([`changed /a ${through}`, `changed /b ${through}`, `created /c ${through}`]);
    changing.set('/b');
    changing.set('/c');
    expect(client.heard()).toEqual([`changed /c ${through + 2}`]);
  });

  it('is forgotten when it goes', () => {
    const { ensemble, server, changing, watcher } = scene();
    changing.create('/a');
    let unread = 0;
    const client = watcher(1, { bufferedBytes: () => unread });
    client.watch([['persistent', '/a']]);
    unread = MAX_UNREAD_EVENT_BYTES + 1;
    changing.set('/a');
    client.client.drop();
    expect(server.machine.watches.slow).toBe(0);
    ensemble.clock.advance(300);
    expect(server.machine.watches.size).toBe(0);
  });
});
