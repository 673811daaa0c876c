import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@holdfast/client';
import { pack } from '@holdfast/protocol';
import {
  DialledGreeting,
  EntryType,
  NONCE_BYTES,
  PEER_PROTOCOL_VERSION,
  logIndex,
  peerItem,
  serverId,
  term,
  type PeerHello,
} from '@holdfast/raft';
import { silentLogger, type Connection, type Listener } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodePeerMessages, type PeerMessage } from '../../src/peers/peer-message.ts';
import { LockdProcess, freePorts, until } from './support/lockd-process.ts';
import { CLUSTER_ID, answers, argumentsFor, dataOf, places, status, type Place } from './support/places.ts';

const IDS = [1, 2, 3];
const { network, random } = nodeRuntime({ logger: silentLogger });

let directory: string;
let trio: readonly Place[];
let client: Client;
let trap: Trap;
const servers = new Map<number, LockdProcess>();

/** Listens at an address of the stranger's, and keeps what comes. */
class Trap {
  readonly address: string;
  readonly heard: Uint8Array[] = [];
  connections = 0;
  #listener: Listener | undefined;

  constructor(address: string) {
    this.address = address;
  }

  async listen(answer: (connection: Connection) => void = () => {}): Promise<void> {
    this.#listener = await network.listen({
      address: this.address,
      maxFrameBytes: 1024 * 1024,
      onConnection: (connection) => {
        this.connections += 1;
        connection.setHandler({ frame: (bytes) => void this.heard.push(Uint8Array.from(bytes)), close: () => {} });
        answer(connection);
      },
    });
  }

  async close(): Promise<void> {
    await this.#listener?.close();
  }
}

function start(id: number): void {
  servers.set(id, new LockdProcess(argumentsFor(id, trio, directory)));
}

async function ready(id: number): Promise<void> {
  await until(async () => (await answers(trio[id - 1]?.client ?? 0, '/ready')) === 200);
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-strangers-'));
  trio = await places(IDS.length);
  for (const id of IDS) start(id);
  for (const id of IDS) await ready(id);
  client = await connect({ servers: trio.map((place) => `127.0.0.1:${place.client}`) });
  // Each is known by its data directory.
  await until(async () => (await client.admin.members()).members.every(({ clientAddress }) => clientAddress !== ''));
  const [port = 0] = await freePorts(1);
  trap = new Trap(`127.0.0.1:${port}`);
  await trap.listen();
});

afterAll(async () => {
  await client?.close();
  await trap?.close();
  for (const server of servers.values()) server.kill('SIGKILL');
  await Promise.all([...servers.values()].map((server) => server.ended()));
  rmSync(directory, { recursive: true, force: true });
});

/** Says hello, proves what it can, and goes on at once; resolves with the reason of the close. */
async function intrude(to: number, fields: Partial<PeerHello>, frames: readonly Uint8Array[]): Promise<string> {
  const address = `127.0.0.1:${trio[to - 1]?.peer ?? 0}`;
  const connection = await network.dial({ address, timeoutMs: 5_000, maxFrameBytes: 1024 * 1024 });
  const greeting = new DialledGreeting({
    hello: {
      version: PEER_PROTOCOL_VERSION,
      features: 31,
      clusterId: CLUSTER_ID,
      from: serverId(99),
      to: serverId(to),
      clientAddress: trap.address,
      purpose: 'log',
      required: 0,
      peerAddress: trap.address,
      ...fields,
    },
    nonce: random.bytes(NONCE_BYTES),
    incarnation: '00112233445566778899aabbccddeeff',
    secrets: { provenBy: ['00112233445566778899aabbccddeeff'], knownBy: [] },
    peer: { secret: 'made up', member: true },
  });
  return new Promise((resolve) => {
    connection.setHandler({
      frame: (bytes) => {
        if (greeting.challenged) return;
        greeting.challengedBy(bytes);
        connection.send(greeting.proof);
        for (const frame of frames) connection.send(Uint8Array.from(frame));
      },
      close: resolve,
    });
    connection.send(Uint8Array.from(greeting.hello));
  });
}

async function terms(): Promise<number[]> {
  return Promise.all(trio.map(async (place) => (await status(place.client)).term));
}

/** A client still gets a lock, nobody was elected or has ended, and nobody has heard of the stranger. */
async function nobodyMinds(before: readonly number[]): Promise<void> {
  await client.lock('treasure').withLock(async (held) => held.assertHeld());
  expect(await terms()).toEqual(before);
  for (const [id, server] of servers) {
    expect(server.child.exitCode, `server ${id}: ${server.stderr}`).toBeNull();
    expect(await answers(trio[id - 1]?.client ?? 0, '/ready')).toBe(200);
    expect(JSON.stringify(await status(trio[id - 1]?.client ?? 0))).not.toContain(trap.address);
  }
  expect(JSON.stringify(await client.admin.members())).not.toContain(trap.address);
  expect(trap.connections, 'dialled where the stranger wanted it').toBe(0);
}

const machine = (message: PeerMessage): Uint8Array => pack([[0, encodePeerMessages([message])]]);

describe('a stranger at the peer port', () => {
  const far = { prevTerm: term(1), term: term(90), commit: logIndex(1_000_000) };
  const entry = { index: logIndex(2), term: term(90), type: EntryType.command, data: new Uint8Array([99, 0, 0, 0]) };
  const append = pack([peerItem({ type: 'append', ...far, prevIndex: logIndex(1), entries: [entry] })]);
  const heartbeats = [50, 60, 70].map((n) =>
    pack([peerItem({ type: 'heartbeat', term: term(n), commit: logIndex(1), round: 1 })]),
  );
  const votes = pack([
    peerItem({ type: 'vote', term: term(90), lastIndex: logIndex(1_000_000), lastTerm: term(90), transfer: true }),
  ]);
  const speech = [append, ...heartbeats, votes, machine({ type: 'halted', index: 1 })];

  it.each<[string, Partial<PeerHello>]>([
    ['that nobody knows, with an address of its own', {}],
    ['in the name of the leader', { from: serverId(0) }],
    ['with a snapshot', { purpose: 'snapshot' }],
    ['in the name of the leader, with a snapshot', { from: serverId(0), purpose: 'snapshot' }],
    ['that says to a server that it was removed', { purpose: 'expulsion' }],
    ['that says so in the name of the leader', { from: serverId(0), purpose: 'expulsion' }],
  ])('%s is not let in, and changes nothing', async (_, fields) => {
    const before = await terms();
    const { leader } = await status(trio[0]?.client ?? 0);
    for (const to of IDS) {
      const from = fields.from === 0 ? serverId(leader === to ? (to % 3) + 1 : leader) : serverId(99);
      expect(await intrude(to, { ...fields, from }, speech)).toMatch(/^NOT_ADMITTED: /);
    }
    await nobodyMinds(before);
  });

  it('that has taken the port of a dead member learns nothing, and ends nobody by whatever it says', async () => {
    const { leader } = await status(trio[0]?.client ?? 0);
    const dead = (leader % 3) + 1;
    const others = IDS.filter((id) => id !== dead);
    servers.get(dead)?.kill('SIGKILL');
    await servers.get(dead)?.ended();
    const impostor = new Trap(`127.0.0.1:${trio[dead - 1]?.peer ?? 0}`);
    await impostor.listen((connection) => setImmediate(() => connection.close('MEMBER_REMOVED: bye')));
    for (const id of others) await servers.get(id)?.complains('a peer does not let this server in');
    await client.lock('treasure').withLock(async (held) => held.assertHeld());
    for (const id of others) expect(servers.get(id)?.child.exitCode, servers.get(id)?.stderr).toBeNull();
    for (const id of IDS) {
      const identity = readFileSync(join(dataOf(id, directory), 'identity.json'), 'utf8');
      const { incarnation } = JSON.parse(identity) as { readonly incarnation: string };
      const heard = impostor.heard.map((bytes) => Buffer.from(bytes).toString('latin1')).join('');
      expect(heard).not.toContain(incarnation);
    }
    await impostor.close();
    start(dead);
    await ready(dead);
    await client.lock('treasure').withLock(async (held) => held.assertHeld());
  });
});
