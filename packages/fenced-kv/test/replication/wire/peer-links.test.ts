import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import type { Message } from '../../../src/replication/core/index.ts';
import { PeerLinks } from '../../../src/replication/wire/peer-links.ts';

const PORT = 7500;
const IDS = ['r1', 'r2', 'r3'] as const;
const SECRET = new TextEncoder().encode('a secret of the group');

interface Peer {
  readonly links: PeerLinks;
  readonly heard: (readonly [from: string, message: Message])[];
  readonly connected: string[];
  readonly disconnected: string[];
  readonly warnings: string[];
}

async function open(
  world: SimWorld,
  id: string,
  { secret = SECRET, group = 'orders' }: { readonly secret?: Uint8Array; readonly group?: string } = {},
): Promise<Peer> {
  const { network, clock, random, logger } = world.host(id).runtime;
  const peer = {
    heard: new Array<readonly [string, Message]>(),
    connected: new Array<string>(),
    disconnected: new Array<string>(),
    warnings: new Array<string>(),
  };
  const peers = new Map(IDS.filter((each) => each !== id).map((each) => [each, `${each}:${PORT}`]));
  const links = await world.complete(
    PeerLinks.open(
      { group, self: id, listen: `${id}:${PORT}`, peers, secret },
      {
        network,
        clock,
        random,
        logger: {
          ...logger,
          warn: (fields) => peer.warnings.push(JSON.stringify(fields, (_, value) => reasonOf(value))),
        },
        message: (from, message) => peer.heard.push([from, message]),
        connected: (replica) => peer.connected.push(replica),
        disconnected: (replica) => peer.disconnected.push(replica),
      },
    ),
  );
  return { ...peer, links };
}

function reasonOf(value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}

async function openAll(world: SimWorld): Promise<readonly [Peer, Peer, Peer]> {
  return [await open(world, 'r1'), await open(world, 'r2'), await open(world, 'r3')];
}

const install = (epoch: number): Message => ({ type: 'install', epoch });

describe('links between replicas', () => {
  it('bring what was sent to whom it was sent, in its order', async () => {
    const world = new SimWorld({ seed: 1 });
    const [first, second, third] = await openAll(world);
    await world.run({ until: () => first.connected.length >= 4 && second.connected.length >= 4 });
    for (let epoch = 1; epoch <= 50; epoch += 1) first.links.send('r2', install(epoch));
    const chunk = new Uint8Array(2_000_000).fill(7);
    const part = { from: '', to: '02', last: true, chunk };
    first.links.send('r2', { type: 'copy', epoch: 57, copy: 1, base: { index: 0, epoch: 0 }, part });
    await world.run({ until: () => second.heard.length === 51, maxMs: 60_000 });
    expect(second.heard.slice(0, 50)).toEqual(Array.from({ length: 50 }, (_, at) => ['r1', install(at + 1)]));
    const [, large] = second.heard[50] ?? [];
    expect(large?.type === 'copy' && Buffer.compare(large.part.chunk, chunk) === 0).toBe(true);
    expect(third.heard).toEqual([]);
  });

  it('say that a replica can be reached again when it has started anew', async () => {
    const world = new SimWorld({ seed: 2 });
    const [first] = await openAll(world);
    await world.run({ until: () => first.connected.length >= 4 });
    world.host('r2').crash();
    await world.run({ forMs: 3_000 });
    first.connected.length = 0;
    world.host('r2').restart();
    const again = await open(world, 'r2');
    await world.run({ until: () => first.connected.filter((id) => id === 'r2').length >= 2, maxMs: 60_000 });
    first.links.send('r2', install(57));
    await world.run({ until: () => again.heard.length === 1, maxMs: 60_000 });
  });

  it('say that nothing connects them with a replica whose process has ended, once the last connection is gone', async () => {
    const world = new SimWorld({ seed: 7 });
    const [first, second] = await openAll(world);
    await world.run({ until: () => first.connected.length >= 4 && second.connected.length >= 4 });
    expect(first.disconnected).toEqual([]);
    world.host('r2').kill();
    await world.run({ forMs: 3_000 });
    expect(first.disconnected).toEqual(['r2']);
  });

  it('connect anew to a replica that is silent, when they are told so', async () => {
    const world = new SimWorld({ seed: 3 });
    const [first, second] = await openAll(world);
    await world.run({ until: () => first.connected.length >= 4 && second.connected.length >= 4 });
    first.connected.length = 0;
    first.links.reset('r2');
    await world.run({ until: () => first.connected.filter((id) => id === 'r2').length >= 2, maxMs: 60_000 });
  });

  it.each([
    ['has another secret', { secret: new TextEncoder().encode('another secret of it') }, 'does not know the secret'],
    ['is of another group', { group: 'users' }, 'is of group'],
  ])('take nothing from one that %s', async (_, options, problem) => {
    const world = new SimWorld({ seed: 4 });
    const first = await open(world, 'r1');
    const stranger = await open(world, 'r2', options);
    await world.run({ forMs: 5_000 });
    stranger.links.send('r1', install(57));
    first.links.send('r2', install(57));
    await world.run({ forMs: 1_000 });
    expect([first.connected, first.heard, stranger.connected, stranger.heard]).toEqual([[], [], [], []]);
    expect([...first.warnings, ...stranger.warnings].join()).toContain(problem);
  });

  it('refuse a secret that could be guessed', async () => {
    const world = new SimWorld({ seed: 5 });
    await expect(open(world, 'r1', { secret: new Uint8Array(15) })).rejects.toThrow('at least 16 bytes');
  });

  it.each([
    ['nothing', []],
    ['no JSON', [new TextEncoder().encode('hello')]],
    ['more than a stranger may say', [new Uint8Array(100_000)]],
    ['a message without a handshake', [new TextEncoder().encode('{"type":"install","epoch":57}')]],
  ])('close the connection of a stranger who says %s', async (_, frames) => {
    const world = new SimWorld({ seed: 6 });
    const first = await open(world, 'r1');
    const { network } = world.host('stranger').runtime;
    const dial = { address: `r1:${PORT}`, timeoutMs: 1_000, maxFrameBytes: 10_000 };
    const connection = await world.complete(network.dial(dial));
    let closed = false;
    connection.setHandler({
      frame() {},
      close() {
        closed = true;
      },
    });
    for (const frame of frames) connection.send(frame);
    await world.run({ until: () => closed, maxMs: 10_000 });
    expect(first.heard).toEqual([]);
  });
});
