import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client, type Members, type MemberSummary } from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Load } from './support/load.ts';
import { lockctl, type Outcome } from './support/lockctl.ts';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, dataOf, joiningArgumentsFor, places, status, type Place } from './support/places.ts';

let directory: string;
let ports: readonly Place[];
let servers: Map<number, LockdProcess>;
let clients: Client[];

/** Three for each test of the block. */
function withServers(): void {
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'lockd-members-'));
    ports = await places(7);
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
}

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

/** An operator's command at the servers that are given, or at all founders. */
function operate(args: readonly string[], ids: readonly number[] = [1, 2, 3]): Promise<Outcome> {
  return lockctl(ids.map(clientPort), ...args);
}

async function joinSecret(id: number): Promise<string> {
  return (await servers.get(id)?.joinSecret()) ?? '';
}

/** By the command that it prints. */
async function add(id: number, ...options: readonly string[]): Promise<string> {
  const secret = await joinSecret(id);
  return succeeded(await operate(['member', 'add', `${id}`, peerAddress(id), '--join-secret', secret, ...options]));
}

/** Without its last line end. */
function succeeded({ code, stdout, stderr }: Outcome): string {
  expect(code, stderr).toBe(0);
  return stdout.trimEnd();
}

describe('an ensemble under load', () => {
  withServers();

  it('grows from three servers to seven and shrinks to three others, the leader gone, with no error and nothing lost', async () => {
    const suspensions: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const client = await connected(1, 2, 3);
      client.events.on('suspended', ({ server, reason }) => suspensions.push(`${server}: ${reason}`));
    }
    const load = await Load.on(clients);
    await load.progress();
    const operator = await connected(1, 2, 3);
    const voters: Record<number, string> = { 1: 'voter', 2: 'voter', 3: 'voter' };

    for (const id of [4, 5, 6, 7]) {
      const joining = startJoining(id);
      await joining.serves();
      expect(await answers(clientPort(id), '/ready')).toBe(503);
      const command = `lockctl member add ${id} ${peerAddress(id)} --join-secret ${await joinSecret(id)}`;
      expect(joining.stderr).toContain(command);
      expect(joining.stdout).toContain(command);
      const said = await add(id);
      expect(said).toMatch(new RegExp(`^Server ${id} is a (learner|voter) now.*"lockctl members"`));
      voters[id] = 'voter';
      await membersBecome(operator, voters);
      await ready(id);
    }
    await load.progress();
    const table = succeeded(await operate(['members'], [7])).split('\n');
    expect(table).toHaveLength(8);
    for (const id of [1, 2, 3, 4, 5, 6, 7]) {
      expect(table[id]).toMatch(
        new RegExp(`^${id} +voter(, leads)? +${peerAddress(id)} +127.0.0.1:${clientPort(id)} +yes$`),
      );
    }

    const { leader: first } = await operator.admin.members();
    const old = [first, ...[1, 2, 3].filter((id) => id !== first), 4];
    for (const id of old) {
      const said = succeeded(await operate(['member', 'remove', `${id}`], [5, 6, 7]));
      expect(said).toContain(`Server ${id} is removed`);
      expect(await servers.get(id)?.ended(), servers.get(id)?.stderr).toBe(71);
      expect((await operate(['member', 'remove', `${id}`], [5, 6, 7])).code, 'again').toBe(0);
      await load.progress();
    }
    const { members } = JSON.parse(succeeded(await operate(['members', '--json'], [5, 6, 7]))) as Members;
    expect(rolesOf(members)).toEqual({ 5: 'voter', 6: 'voter', 7: 'voter' });
    await load.stop();
    expect(load.errors).toEqual([]);
    expect(suspensions).toEqual([]);
    expect(load.tokens.every((token, n) => n === 0 || token > (load.tokens[n - 1] ?? 0))).toBe(true);
    for (const id of [5, 6, 7]) {
      const reader = await connected(id);
      for (const [path, written] of load.written) {
        const { data } = await reader.nodes.get(path);
        expect(Number(Buffer.from(data).toString())).toBe(written);
      }
    }

    const returned = start(first, argumentsFor(first, ports.slice(0, 3), directory));
    expect(await returned.ended()).toBe(71);
    expect(lastWords(returned)).toMatch(/removed from the ensemble/);
  }, 120_000);
});

describe('an operator who writes a change of the members wrongly', () => {
  // The command says so before it looks for a server.
  it.each([
    ['a number that is none', ['add', 'x', '127.0.0.1:7204'], /named by its number/],
    ['an address without a port', ['add', '4', '127.0.0.1'], /host:port/],
    ['no join secret', ['add', '4', '127.0.0.1:7204'], /the server prints it while it waits to be added with --join/],
  ])('is told how to write it, with 2, after %s', async (_, args, message) => {
    const { code, stdout, stderr } = await lockctl([1], 'member', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('an operator who changes the members', () => {
  withServers();

  it('is told how to write it, with 2, after a number that no server may have', async () => {
    const { code, stdout, stderr } = await operate([
      'member',
      'add',
      '2147483648',
      peerAddress(4),
      '--join-secret',
      'x',
    ]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/from 1 to/);
  });

  it('is told what hinders it, with 1, and what to do next', async () => {
    const refusals: readonly (readonly [readonly string[], RegExp])[] = [
      [['member', 'promote', '9'], /server 9 is no member/],
      [['member', 'remove', '9'], /server 9 is no member/],
      [['member', 'add', '2', peerAddress(4), '--join-secret', 'x'], /numbers are used once.*lockctl members/],
      [
        ['member', 'add', '4', peerAddress(2), '--join-secret', 'x'],
        /another member has that peer address.*lockctl members/,
      ],
    ];
    for (const [args, message] of refusals) {
      const { code, stdout, stderr } = await operate(args);
      expect({ code, stdout }, args.join(' ')).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(message);
    }
    for (const id of [1, 2, 3]) servers.get(id)?.kill('SIGSTOP');
    const unreachable = await operate(['--timeout', '2s', 'member', 'remove', '3']);
    for (const id of [1, 2, 3]) servers.get(id)?.kill('SIGCONT');
    expect(unreachable.code).toBe(1);
    expect(unreachable.stderr).toMatch(/lockctl status|is the ensemble running/);
  }, 60_000);

  it('waits for a change that is under way, and is told of one that takes too long', async () => {
    startJoining(4);
    await add(4, '--observer');
    await ready(4);
    servers.get(4)?.kill('SIGSTOP');
    const operator = await connected(1, 2, 3);
    const isConnected = async (): Promise<boolean | undefined> =>
      (await operator.admin.members()).members.find(({ server }) => server === 4)?.connected;
    // Until it is missed it may still get its vote.
    await until(async () => (await isConnected()) === false);
    const refusals: Pick<Outcome, 'code' | 'stderr'>[] = [];
    const lags = { code: 1, stderr: expect.stringMatching(/server 4 lags too far behind to vote.*lockctl members/) };
    const hindered = {
      code: 1,
      stderr: expect.stringMatching(/another change of the members is not finished.*lockctl members/),
    };
    // Two processes that start at the same time may still ask one after the other, on a busy machine.
    await until(async () => {
      const both = [0, 1].map(() => operate(['--timeout', '30s', 'member', 'promote', '4']));
      refusals.push(...(await Promise.all(both)).map(({ code, stderr }) => ({ code, stderr })));
      return refusals.some(({ stderr }) => stderr.includes('another change'));
    });
    expect(refusals).toEqual(expect.arrayContaining([lags, hindered]));
    expect(refusals.filter(({ code }) => code !== 1)).toEqual([]);
    servers.get(4)?.kill('SIGCONT');
    expect(succeeded(await operate(['member', 'promote', '4']))).toBe('Server 4 is a voter now.');
  }, 60_000);
});

describe('a member that was added and never started', () => {
  withServers();

  it('hinders no other change, and is taken back at once', async () => {
    const operator = await connected(1, 2, 3);
    succeeded(await operate(['member', 'add', '7', peerAddress(7), '--join-secret', 'of a server that is not there']));
    startJoining(4);
    await add(4);
    await membersBecome(operator, { 1: 'voter', 2: 'voter', 3: 'voter', 4: 'voter', 7: 'learner' });
    succeeded(await operate(['member', 'remove', '4']));
    expect(await servers.get(4)?.ended()).toBe(71);
    const answer = JSON.parse(succeeded(await operate(['member', 'remove', '7', '--json']))) as Members;
    expect(rolesOf(answer.members)).toEqual({ 1: 'voter', 2: 'voter', 3: 'voter' });
  }, 60_000);
});

describe('a server that comes back on an empty disk under its old number', () => {
  withServers();

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
    await operator.admin.addMember(4, peerAddress(4), { joinSecret: await joinSecret(4) });
    await membersBecome(operator, Object.fromEntries([...others, 4].map((id) => [id, 'voter'])));
    await expect(operator.admin.addMember(lost, peerAddress(5), { joinSecret: 'x' })).rejects.toMatchObject({
      code: 'MEMBER_EXISTS',
    });
    await ready(4);
    const { data } = await (await connected(4)).nodes.get('/kept');
    expect(Buffer.from(data).toString()).toBe('x');
  }, 60_000);
});

describe('an observer', () => {
  withServers();

  it('serves sessions, locks and reads of a session, never votes by itself, and votes when asked to', async () => {
    const operator = await connected(1, 2, 3);
    startJoining(4);
    await operator.admin.addMember(4, peerAddress(4), { observer: true, joinSecret: await joinSecret(4) });
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
