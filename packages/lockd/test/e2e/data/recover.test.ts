import { CreateMode } from '@holdfast/protocol';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@holdfast/client';
import { encodeEntry, stampEntry } from '@holdfast/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess, until } from '../support/lockd-process.ts';
import { answers, argumentsFor, CLUSTER_ID, dataOf, places, status, type Place } from '../support/places.ts';
import { entryOf, writeLog } from '../support/written-log.ts';

const GAP = 2 ** 38;
const ACCEPTED = '--accept-lost-commands';

let directory: string;
let processes: LockdProcess[];
let clients: Client[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-recover-'));
  processes = [];
  clients = [];
});

afterEach(async () => {
  for (const each of processes) each.kill('SIGKILL');
  await Promise.all(processes.map((each) => each.ended()));
  await Promise.allSettled(clients.map((client) => client.close()));
  rmSync(directory, { recursive: true, force: true });
});

function run(args: readonly string[]): LockdProcess {
  const lockd = new LockdProcess(args);
  processes.push(lockd);
  return lockd;
}

async function command(...args: string[]): Promise<{ code: number | string; stdout: string; stderr: string }> {
  const lockd = run(args);
  return { code: await lockd.ended(), stdout: lockd.stdout, stderr: lockd.stderr };
}

async function client(servers: readonly Place[], clusterId: string): Promise<Client> {
  const addresses = servers.map((place) => `127.0.0.1:${place.client}`);
  const connected = await connect({ servers: addresses, clusterId, connectTimeoutMs: 30_000, closeTimeoutMs: 100 });
  clients.push(connected);
  return connected;
}

async function lead(all: readonly Place[]): Promise<number> {
  const port = all[0]?.client ?? 0;
  await until(async () => (await answers(port, '/ready')) === 200 && (await status(port)).leader !== 0);
  return (await status(port)).leader;
}

async function killAll(servers: readonly LockdProcess[]): Promise<void> {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all(servers.map((server) => server.ended()));
}

/** The name of the cluster and the index behind which it begins, as the command tells them. */
function made(stdout: string): { readonly clusterId: string; readonly index: number } {
  const [, clusterId = ''] = /^made cluster "([^"]+)"/.exec(stdout) ?? [];
  const [, index = ''] = /it begins behind index (\d+)/.exec(stdout) ?? [];
  return { clusterId, index: Number(index) };
}

describe('lockd recover', () => {
  it('begins a new cluster with what one of three servers has, and gives out higher tokens only', async () => {
    const trio = await places(3);
    const servers = trio.map((_, n) => run(argumentsFor(n + 1, trio, directory)));
    for (const server of servers) await server.serves();
    const left = await lead(trio);
    const [holder, waiter] = [await client(trio, ''), await client(trio, '')];
    await holder.nodes.create('/settings', new TextEncoder().encode('kept'));
    await holder.nodes.create('/presence', new Uint8Array(), { ephemeral: true });
    const held = await holder.lock('accounts/42').acquire();
    const waiting = waiter.lock('accounts/42').acquire();
    waiting.catch(() => {});
    await until(async () => (await holder.admin.lock('accounts/42')).waiters.length === 1);
    await killAll(servers);
    for (const id of [1, 2, 3]) if (id !== left) rmSync(dataOf(id, directory), { recursive: true });

    const data = dataOf(left, directory);
    const to = join(directory, 'recovered');
    const recover = (...more: string[]) => command('recover', '--data', data, '--to', to, ...more);
    const refused = await recover();
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/what server \d of cluster "e2e" has: a log up to index \d+ of term \d+\./);
    expect(refused.stderr).toContain(`add ${ACCEPTED}; nothing was changed`);
    const alone = run(argumentsFor(left, trio, directory));
    await alone.serves();
    expect(await recover(ACCEPTED)).toMatchObject({ code: 65, stderr: expect.stringContaining('in use by another') });
    expect(existsSync(to)).toBe(false);
    await killAll([alone]);

    const recovered = await recover(ACCEPTED);
    expect(recovered.stderr).toBe('');
    expect(recovered).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('ended 2 sessions, with 1 holds and 1 waits'),
    });
    const { clusterId, index } = made(recovered.stdout);
    expect(clusterId).toMatch(/^e2e-r[0-9a-f]{8}$/);
    expect(index).toBeGreaterThan(held.token + GAP);
    expect(readdirSync(to)).toEqual([`server-${left}`]);

    const own = trio[left - 1] ?? { client: 0, peer: 0 };
    const addresses = ['--client', `127.0.0.1:${own.client}`, '--peer', `127.0.0.1:${own.peer}`];
    const started = ['--id', `${left}`, ...addresses, '--data', dataOf(left, to)];
    expect((await command(...started, '--cluster-id', CLUSTER_ID)).code).toBe(66);
    run([...started, '--cluster-id', clusterId]);
    const later = await client([own], clusterId);
    const next = await later.lock('accounts/42').acquire({ waitMs: 10_000 });
    expect(next.token).toBeGreaterThan(index);
    expect(new TextDecoder().decode((await later.nodes.get('/settings')).data)).toBe('kept');
    expect(await later.nodes.exists('/presence')).toBeUndefined();
    // Clients of the old cluster that ask for none by name hear the truth from the new one.
    await expect(waiting).rejects.toMatchObject({ code: 'SESSION_EXPIRED' });
    await until(() => holder.state === 'expired' && held.signal.aborted);
  });

  it('makes the directories of all servers of the new cluster, which begin with the same state', async () => {
    const [old, ...trio] = await places(4);
    if (old === undefined) throw new Error('no place');
    const attach = {
      type: 'attach',
      secretHash: new Uint8Array(32),
      session: 0,
      timeoutMs: 10_000,
      label: '',
    } as const;
    const node = { type: 'create', path: '/n', data: new Uint8Array(5), mode: CreateMode.persistent } as const;
    await writeLog(1, [old], directory, [
      undefined,
      entryOf(attach, { session: 0, number: 1 }),
      entryOf(node, { session: 2, number: 1 }),
    ]);
    const to = join(directory, 'recovered');
    const cluster = trio.map(({ peer }, n) => `${n + 1}=127.0.0.1:${peer}`).join(',');
    const flags = ['recover', '--data', dataOf(1, directory), '--cluster', cluster, ACCEPTED];
    const recovered = await command(...flags, '--to', to, '--cluster-id', 'second');
    expect(recovered, recovered.stderr).toMatchObject({ code: 0 });
    expect(made(recovered.stdout)).toEqual({ clusterId: 'second', index: 3 + GAP });
    const servers = trio.map((_, n) => run([...argumentsFor(n + 1, trio, to), '--cluster-id', 'second']));
    for (const server of servers) await server.serves();
    const leader = await lead(trio);
    const user = await client(trio, 'second');
    expect((await user.lock('a').acquire()).token).toBeGreaterThan(3 + GAP);
    // A majority of them carries on without the leader.
    servers[leader - 1]?.kill('SIGKILL');
    expect((await user.nodes.get('/n')).data).toHaveLength(5);
    expect((await user.lock('b').acquire()).token).toBeGreaterThan(3 + GAP);

    // From the same directory once more: behind all that the second cluster may have given out.
    const third = await command(...flags, '--to', join(directory, 'third'));
    expect(made(third.stdout).index).toBe(3 + 2 * GAP);
    const fourth = await command(...flags, '--to', join(directory, 'fourth'), '--above', `${3 * GAP + 77}`);
    expect(made(fourth.stdout).index).toBe(3 * GAP + 77);
    const tooFar = await command(...flags, '--to', join(directory, 'fifth'), '--above', `${2 ** 52 + 1}`);
    expect(tooFar).toMatchObject({ code: 2, stderr: expect.stringContaining('too few tokens would be left') });
    expect(existsSync(join(directory, 'fifth'))).toBe(false);
  });

  it('makes a server alone that others join, which get the state from it', async () => {
    const [one, other] = await places(2);
    if (one === undefined || other === undefined) throw new Error('no places');
    const attach = {
      type: 'attach',
      secretHash: new Uint8Array(32),
      session: 0,
      timeoutMs: 10_000,
      label: '',
    } as const;
    const node = { type: 'create', path: '/n', data: new Uint8Array(5), mode: CreateMode.persistent } as const;
    const attached = entryOf(attach, { session: 0, number: 1 });
    await writeLog(1, [one, other], directory, [undefined, attached, entryOf(node, { session: 2, number: 1 })]);
    const to = join(directory, 'recovered');
    const flags = ['--data', dataOf(1, directory), '--to', to, '--cluster-id', 'second'];
    expect((await command('recover', ...flags, ACCEPTED)).code).toBe(0);
    const addresses = ({ client: clients, peer }: Place): string[] => {
      return ['--cluster-id', 'second', '--client', `127.0.0.1:${clients}`, '--peer', `127.0.0.1:${peer}`];
    };
    run(['--id', '1', ...addresses(one), '--data', dataOf(1, to)]);
    const joining = run(['--id', '2', ...addresses(other), '--data', dataOf(2, to), '--join']);
    await joining.serves();
    const user = await client([one], 'second');
    await user.admin.addMember(2, `127.0.0.1:${other.peer}`, { joinSecret: await joining.joinSecret() });
    await until(async () => {
      const { appliedIndex, nodes } = await status(other.client);
      return appliedIndex > GAP && nodes === (await status(one.client)).nodes;
    });
    await until(async () => (await user.admin.members()).members.every(({ role }) => role === 'voter'));
    expect((await user.lock('a').acquire()).token).toBeGreaterThan(GAP);
  });

  it('gives up an entry that nobody can apply, with the command that the servers say when they end', async () => {
    const [spare, ...trio] = await places(4);
    if (spare === undefined) throw new Error('no place');
    const attach = {
      type: 'attach',
      secretHash: new Uint8Array(32),
      session: 0,
      timeoutMs: 10_000,
      label: '',
    } as const;
    const create = (path: string) =>
      ({ type: 'create', path, data: new Uint8Array(5), mode: CreateMode.persistent }) as const;
    const unreadable = encodeEntry(
      { command: 99, session: 2, generation: 1, number: 2, ackedUpTo: 1 },
      new Uint8Array(),
    );
    stampEntry(unreadable, 1_700_000_000_000, 0);
    for (const id of [1, 2, 3]) {
      await writeLog(id, trio, directory, [
        undefined,
        entryOf(attach, { session: 0, number: 1 }),
        entryOf(create('/before'), { session: 2, number: 1 }),
        unreadable,
        entryOf(create('/behind'), { session: 2, number: 3 }),
      ]);
    }
    const servers = trio.map((_, n) => run(argumentsFor(n + 1, trio, directory)));
    // The last of three has no majority any more to commit it with.
    const isOver = ({ child }: LockdProcess): boolean => child.exitCode !== null;
    await until(() => servers.filter(isOver).length >= 2);
    const dead = servers.filter(isOver);
    for (const server of dead) {
      expect(await server.ended()).toBe(70);
      expect(server.stderr).toContain('the entry at index 4 has the unknown command number 99');
    }
    await killAll(servers);
    const [advice = ''] =
      /lockd recover --data \S+ --to \S+ --stop-before 4 --accept-lost-commands/.exec(dead[0]?.stderr ?? '') ?? [];
    const words = advice.split(' ').slice(1);
    const to = words[words.indexOf('--to') + 1] ?? '';
    const left = servers.indexOf(dead[0] as LockdProcess) + 1;
    expect(words).toContain(dataOf(left, directory));

    // Without it the command ends as the servers did, and names it too.
    const without = await command(...words.filter((word) => word !== '--stop-before' && word !== '4'));
    expect(without).toMatchObject({ code: 70, stderr: expect.stringContaining('add --stop-before 4') });
    const asked = await command(...words.filter((word) => word !== ACCEPTED));
    expect(asked).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is given up, acknowledged or not: \d entries/),
    });
    const beyond = await command(...words.map((word) => (word === '4' ? '400' : word)));
    expect(beyond).toMatchObject({ code: 2, stderr: expect.stringMatching(/ends at index \d, before that entry/) });
    expect(existsSync(to)).toBe(false);

    const recovered = await command(...words);
    expect(recovered, recovered.stderr).toMatchObject({ code: 0 });
    expect(recovered.stdout).toContain('the entry at index 4 and everything behind it is given up');
    const { clusterId, index } = made(recovered.stdout);
    expect(index).toBeGreaterThanOrEqual(5 + GAP);
    const addresses = ['--client', `127.0.0.1:${spare.client}`, '--peer', `127.0.0.1:${spare.peer}`];
    const fresh = run(['--id', `${left}`, ...addresses, '--data', dataOf(left, to), '--cluster-id', clusterId]);
    await fresh.serves();
    const user = await client([spare], clusterId);
    expect((await user.lock('a').acquire()).token).toBeGreaterThan(index);
    expect(await user.nodes.exists('/before')).toBeDefined();
    expect(await user.nodes.exists('/behind')).toBeUndefined();

    // What a snapshot holds cannot be taken out of it.
    await user.close();
    await killAll([fresh]);
    const again = [
      'recover',
      '--data',
      dataOf(left, to),
      '--to',
      join(directory, 'again'),
      '--stop-before',
      '4',
      ACCEPTED,
    ];
    expect(await command(...again)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`the snapshot of index ${index} in this directory holds that entry already`),
    });
  });

  it.each<[string, readonly string[], RegExp]>([
    ['where nothing is said', [], /recover needs --to <directory>/],
    ['into a directory that has files', ['--to', '.'], /--to \. is not empty: give an empty directory/],
    ['under the old name', ['--to', 'new', '--cluster-id', CLUSTER_ID], /--cluster-id e2e is the old cluster's/],
    ['under a name that none can have', ['--to', 'new', '--cluster-id', 'a b'], /"a b" must be up to 100 letters/],
    ['with a token that is none', ['--to', 'new', '--above', 'x'], /--above "x" must be a token, a whole number/],
    ['before an entry that is none', ['--to', 'new', '--stop-before', '0'], /--stop-before "0" must be the index/],
    ['with members that are none', ['--to', 'new', '--cluster', '1'], /--cluster: "1" must be number=host:port/],
  ])('refuses %s, and changes nothing', async (_, flags, message) => {
    const one = await places(1);
    await writeLog(1, one, directory, [undefined]);
    const before = readdirSync(dataOf(1, directory));
    const { code, stderr } = await command('recover', '--data', dataOf(1, directory), ACCEPTED, ...flags);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(readdirSync(dataOf(1, directory))).toEqual(before);
    expect(existsSync('new')).toBe(false);
  });
});
