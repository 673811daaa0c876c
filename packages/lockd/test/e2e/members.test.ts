import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client, type MemberSummary } from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Load } from './load.ts';
import { LockdProcess, until } from './lockd-process.ts';
import { answers, argumentsFor, dataOf, joiningArgumentsFor, places, status, type Place } from './places.ts';

let directory: string;
let ports: readonly Place[];
let servers: Map<number, LockdProcess>;
let clients: Client[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-members-'));
  ports = await places(5);
  servers = new Map();
  clients = [];
  for (const id of [1, 2, 3]) start(id, argumentsFor(id, ports.slice(0, 3), directory));
  for (const id of [1, 2, 3]) await ready(id);
});

afterEach(async () => {
  for (const server of servers.values()) server.kill('SIGKILL');
  await Promise.all(clients.map((client) => client.close().catch(() => {})));
  await Promise.all([...servers.values()].map((server) => server.ended()));
  rmSync(directory, { recursive: true, force: true });
});

const clientPort = (id: number): number => ports[id - 1]?.client ?? 0;
const peerAddress = (id: number): string => `127.0.0.1:${ports[id - 1]?.peer ?? 0}`;

function start(id: number, args: readonly string[]): LockdProcess {
  const server = new LockdProcess(args);
  servers.set(id, server);
  return server;
}

function startJoining(id: number): LockdProcess {
  return start(id, joiningArgumentsFor(id, ports, directory));
}

async function ready(id: number): Promise<void> {
  await until(async () => (await answers(clientPort(id), '/ready')) === 200);
}

async function connected(...ids: readonly number[]): Promise<Client> {
  const client = await connect({ servers: ids.map((id) => `127.0.0.1:${clientPort(id)}`) });
  clients.push(client);
  return client;
}

async function membersBecome(client: Client, roles: Readonly<Record<number, string>>): Promise<void> {
  await until(async () => {
    const { members } = await client.admin.members();
    return JSON.stringify(rolesOf(members)) === JSON.stringify(roles);
  });
}

function rolesOf(members: readonly MemberSummary[]): Record<number, string> {
  return Object.fromEntries(members.map(({ server, role }) => [server, role]));
}

/** Its last line, which says why it ended. */
function lastWords(server: LockdProcess): string {
  const { msg } = JSON.parse(server.stderr.trim().split('\n').at(-1) ?? '') as { readonly msg: string };
  return msg;
}

describe('an ensemble under load', () => {
  it('grows from three servers to five and shrinks to three others, the leader gone, with no error and nothing lost', async () => {
    const suspensions: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const client = await connected(1, 2, 3);
      client.events.on('suspended', ({ server, reason }) => suspensions.push(`${server}: ${reason}`));
    }
    const load = await Load.on(clients);
    await load.progress();
    const operator = await connected(1, 2, 3);

    for (const id of [4, 5]) {
      const joining = startJoining(id);
      await joining.serves();
      expect(await answers(clientPort(id), '/ready')).toBe(503);
      expect(joining.stderr).toContain(`lockctl member add ${id} ${peerAddress(id)}`);
      const { members } = await operator.admin.addMember(id, peerAddress(id));
      expect(rolesOf(members)[id]).toMatch(/learner|voter/);
    }
    await membersBecome(operator, { 1: 'voter', 2: 'voter', 3: 'voter', 4: 'voter', 5: 'voter' });
    for (const id of [4, 5]) await ready(id);
    await load.progress();

    const { leader: oldLeader } = await operator.admin.members();
    const old = [oldLeader, ...[1, 2, 3].filter((id) => id !== oldLeader)].slice(0, 2);
    for (const id of old) {
      const { members } = await operator.admin.removeMember(id);
      expect(rolesOf(members)[id]).toBeUndefined();
      expect(await servers.get(id)?.ended(), servers.get(id)?.stderr).toBe(71);
      expect(await operator.admin.removeMember(id), 'again').toBeDefined();
      await load.progress();
    }
    const left = [1, 2, 3, 4, 5].filter((id) => !old.includes(id));
    expect(rolesOf((await operator.admin.members()).members)).toEqual(
      Object.fromEntries(left.map((id) => [id, 'voter'])),
    );
    await load.stop();
    expect(load.errors).toEqual([]);
    expect(suspensions).toEqual([]);
    expect(load.tokens.every((token, n) => n === 0 || token > (load.tokens[n - 1] ?? 0))).toBe(true);
    for (const id of left) {
      const reader = await connected(id);
      for (const [path, written] of load.written) {
        const { data } = await reader.nodes.get(path);
        expect(Number(Buffer.from(data).toString())).toBe(written);
      }
    }

    const [again = 0] = old;
    const returned = start(again, argumentsFor(again, ports.slice(0, 3), directory));
    expect(await returned.ended()).toBe(71);
    expect(lastWords(returned)).toMatch(/removed from the ensemble/);
  }, 60_000);
});

describe('a server that comes back on an empty disk under its old number', () => {
  it('ends with 72 and says what to do, and is replaced by one with a new number', async () => {
    const operator = await connected(1, 2, 3);
    const { leader } = await operator.admin.members();
    const lost = 1 + (leader % 3);
    const known = async (): Promise<boolean> =>
      (await operator.admin.members()).members.every(({ clientAddress }) => clientAddress !== '');
    await until(known);
    await operator.nodes.create('/kept', 'x');
    servers.get(lost)?.kill('SIGKILL');
    await servers.get(lost)?.ended();
    rmSync(dataOf(lost, directory), { recursive: true });
    const wiped = start(lost, argumentsFor(lost, ports.slice(0, 3), directory));
    expect(await wiped.ended(), wiped.stderr).toBe(72);
    expect(lastWords(wiped)).toMatch(
      new RegExp(`whose disk is lost.*lockctl member remove ${lost}.*--join under a new id`),
    );

    startJoining(4);
    const others = [1, 2, 3].filter((id) => id !== lost);
    await operator.admin.removeMember(lost);
    await operator.admin.addMember(4, peerAddress(4));
    await membersBecome(operator, Object.fromEntries([...others, 4].map((id) => [id, 'voter'])));
    await expect(operator.admin.addMember(lost, peerAddress(5))).rejects.toMatchObject({ code: 'MEMBER_EXISTS' });
    await ready(4);
    const { data } = await (await connected(4)).nodes.get('/kept');
    expect(Buffer.from(data).toString()).toBe('x');
  }, 60_000);
});

describe('an observer', () => {
  it('serves sessions, locks and reads of a session, never votes by itself, and votes when asked to', async () => {
    const operator = await connected(1, 2, 3);
    startJoining(4);
    await operator.admin.addMember(4, peerAddress(4), { observer: true });
    await ready(4);
    const client = await connected(4);
    const held = await client.lock('observed').acquire();
    await client.nodes.create('/observed', 'y');
    const { data } = await client.nodes.get('/observed', { consistency: 'session' });
    expect(Buffer.from(data).toString()).toBe('y');
    held.assertHeld();
    expect((await status(clientPort(4))).members.find(({ id }) => id === 4)?.role).toBe('observer');
    expect(rolesOf((await operator.admin.members()).members)[4]).toBe('observer');
    // Three voters go on without one; were the observer counted, two of four would be no majority.
    const { leader } = await client.admin.members();
    servers.get(1 + (leader % 3))?.kill('SIGKILL');
    servers.get(4)?.kill('SIGSTOP');
    await operator.nodes.create('/decided');
    servers.get(4)?.kill('SIGCONT');
    expect(rolesOf((await client.admin.promoteMember(4)).members)[4]).toBe('voter');
    await held.release();
  }, 60_000);
});
