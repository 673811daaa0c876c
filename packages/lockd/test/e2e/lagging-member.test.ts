/** The hard case of docs/decisions/0011: a member returns that was down while all others were replaced, and knows none of them. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, dataOf, joiningArgumentsFor, places, status, type Place } from './support/places.ts';

const FOUNDERS = [1, 2, 3];
/** A snapshot after each MiB of log, and nothing before it stays. */
const SOON = ['--snapshot-log-bytes', '1048576', '--snapshot-trailing-bytes', '0'];

let directory: string;
let ports: readonly Place[];
let servers: Map<number, LockdProcess>;
let clients: Client[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-lagging-'));
  ports = await places(5);
  servers = new Map();
  clients = [];
});

afterEach(async () => {
  for (const server of servers.values()) server.kill('SIGKILL');
  await Promise.all(clients.map((client) => client.close().catch(() => {})));
  await Promise.all([...servers.values()].map((server) => server.ended()));
  rmSync(directory, { recursive: true, force: true });
});

const clientPort = (id: number): number => ports[id - 1]?.client ?? 0;
const peerAddress = (id: number): string => `127.0.0.1:${ports[id - 1]?.peer ?? 0}`;

function start(id: number, options: readonly string[]): LockdProcess {
  const args = FOUNDERS.includes(id)
    ? argumentsFor(id, ports.slice(0, FOUNDERS.length), directory)
    : joiningArgumentsFor(id, ports, directory);
  const server = new LockdProcess([...args, ...options]);
  servers.set(id, server);
  return server;
}

async function stop(id: number): Promise<void> {
  servers.get(id)?.kill('SIGKILL');
  await servers.get(id)?.ended();
}

async function ready(id: number): Promise<void> {
  await until(async () => (await answers(clientPort(id), '/ready')) === 200);
}

async function connected(...ids: readonly number[]): Promise<Client> {
  const client = await connect({ servers: ids.map((id) => `127.0.0.1:${clientPort(id)}`) });
  clients.push(client);
  return client;
}

async function rolesAt(id: number): Promise<Record<number, string>> {
  const { members } = await status(clientPort(id));
  return Object.fromEntries(members.map((member) => [member.id, member.role]));
}

async function snapshotsInstalled(id: number): Promise<number> {
  const page = await fetch(`http://127.0.0.1:${clientPort(id)}/metrics`).then((response) => response.text());
  return Number(/^holdfast_snapshots_total\{.*how="installed".*\} (\d+)/m.exec(page)?.[1]);
}

/** {1, 2, 3} becomes {3, 4, 5} while 3 is down; resolves with a client of the new members. */
async function replaceOthers(options: readonly string[]): Promise<Client> {
  for (const id of FOUNDERS) start(id, options);
  for (const id of FOUNDERS) await ready(id);
  const founders = await connected(1, 2);
  await founders.nodes.create('/before', 'x');
  // The ensemble knows the data directory of each by then.
  await until(async () => (await founders.admin.members()).members.every(({ clientAddress }) => clientAddress !== ''));
  await stop(3);
  for (const id of [4, 5]) {
    const joinSecret = await start(id, options).joinSecret();
    await founders.admin.addMember(id, peerAddress(id), { joinSecret });
    await until(async () => (await rolesAt(id))[id] === 'voter');
  }
  const operator = await connected(4, 5);
  for (const id of [1, 2]) {
    await operator.admin.removeMember(id);
    expect(await servers.get(id)?.ended(), servers.get(id)?.stderr).toBe(71);
  }
  return operator;
}

async function belongsAgain(operator: Client, options: readonly string[]): Promise<void> {
  await operator.nodes.create('/after', 'y');
  await start(3, options).serves();
  await until(async () => JSON.stringify(await rolesAt(3)) === '{"3":"voter","4":"voter","5":"voter"}');
  await ready(3);
  // Its vote is needed from now on, and its log must have everything.
  await stop(5);
  const client = await connected(3);
  for (const [path, data] of Object.entries({ '/before': 'x', '/after': 'y' })) {
    expect(Buffer.from((await client.nodes.get(path)).data).toString()).toBe(data);
  }
  await client.lock('served').withLock(async (held) => {
    held.assertHeld();
    await client.nodes.create('/served');
  });
}

describe('a member that was down while all others were replaced', () => {
  it('is let in by those that it does not know, catches up, votes and serves', async () => {
    const operator = await replaceOthers([]);
    await belongsAgain(operator, []);
    expect(await snapshotsInstalled(3)).toBe(0);
  }, 60_000);

  it('is sent a snapshot when they have let go of the log that it lacks', async () => {
    const operator = await replaceOthers(SOON);
    const data = new Uint8Array(900_000);
    for (let n = 0; n < 3; n += 1) await operator.nodes.create(`/large-${n}`, data);
    const hasSnapshot = (id: number): boolean =>
      readdirSync(join(dataOf(id, directory), 'group-0')).some((name) => name.endsWith('.snapshot'));
    await until(() => hasSnapshot(4) && hasSnapshot(5));
    await belongsAgain(operator, SOON);
    expect(await snapshotsInstalled(3)).toBe(1);
  }, 60_000);
});
