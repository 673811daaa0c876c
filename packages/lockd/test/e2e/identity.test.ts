import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, onePlace, places, type Place } from './support/places.ts';

let directory: string;
let processes: LockdProcess[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-identity-'));
  processes = [];
});

afterEach(async () => {
  for (const each of processes) each.kill('SIGKILL');
  await Promise.all(processes.map((each) => each.ended()));
  rmSync(directory, { recursive: true, force: true });
});

function start(args: readonly string[], uid?: number): LockdProcess {
  const lockd = new LockdProcess(args, {}, [], uid);
  processes.push(lockd);
  return lockd;
}

async function ready(args: readonly string[], { client }: Place): Promise<LockdProcess> {
  const lockd = start(args);
  await lockd.serves();
  await until(async () => (await answers(client, '/ready')) === 200);
  return lockd;
}

/** The last value of a flag counts. */
const and = (args: readonly string[], ...more: string[]): string[] => [...args, ...more];

/** Its last line, which says why it ended. */
function lastWords(lockd: LockdProcess): string {
  const line = lockd.stderr.trim().split('\n').at(-1) ?? '';
  const { msg } = JSON.parse(line) as { readonly msg: string };
  return msg;
}

async function expectEnd(lockd: LockdProcess, code: number, message: RegExp): Promise<void> {
  expect(await lockd.ended(), lockd.stderr).toBe(code);
  expect(lastWords(lockd)).toMatch(message);
  expect(lockd.stdout).toBe('');
}

describe('a server on a data directory that is not its own', () => {
  it('ends with 66 and says whose it is, whether the cluster or the number is another', async () => {
    const place = await onePlace();
    const args = argumentsFor(1, [place], directory);
    const owner = await ready(args, place);
    owner.kill('SIGTERM');
    await owner.ended();
    const otherCluster = start(and(args, '--cluster-id', 'another'));
    await expectEnd(otherCluster, 66, /server 1 of cluster "e2e", but this is server 1 of cluster "another": start it/);
    const otherNumber = start(and(args, '--id', '2', '--cluster', `2=127.0.0.1:${place.peer}`));
    await expectEnd(otherNumber, 66, /belongs to server 1 of cluster "e2e", but this is server 2 of cluster "e2e"/);
    await ready(args, place);
  });

  it('ends with 65 while the first lives, which goes on; and is served at once after a kill -9', async () => {
    const [place, other] = await places(2);
    if (place === undefined || other === undefined) throw new Error('no places');
    const first = await ready(argumentsFor(1, [place], directory), place);
    const again = argumentsFor(1, [other], directory);
    await expectEnd(start(again), 65, /server-1 is in use by another running server/);
    expect(await answers(place.client, '/ready')).toBe(200);
    first.kill('SIGKILL');
    expect(await first.ended()).toBe('SIGKILL');
    await ready(again, other);
  });
});

describe('a port that cannot be listened on', () => {
  it.each(['client', 'peer'] as const)(
    'ends with 64 where it is taken, and names --%s and how to find who',
    async (flag) => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const args = argumentsFor(1, [{ ...(await onePlace()), [flag]: port }], directory);
      const taken = `lockd stops: --${flag}: cannot listen on 127\\.0\\.0\\.1:${port}: the port is in use; find who has it`;
      await expectEnd(start(args), 64, new RegExp(`${taken} with "lsof .*:${port}.* or choose another port`));
      other.close();
    },
  );

  it.each(['client', 'peer'] as const)('ends with 2 where --%s is no address of this machine', async (flag) => {
    // TEST-NET-1 of RFC 5737, which no machine has.
    const args = and(argumentsFor(1, [await onePlace()], directory), `--${flag}`, '192.0.2.1:7101', '--insecure');
    const own = flag === 'peer' ? and(args, '--cluster', '1=192.0.2.1:7101') : args;
    await expectEnd(start(own), 2, new RegExp(`--${flag}: cannot listen on 192.0.2.1:7101: this machine has no such`));
  });

  it('ends with 2 where this user may not, as long as the system keeps low ports to itself', async (context) => {
    const nobody = unprivilegedUser();
    if (nobody === undefined) return context.skip('needs another user who can run node and read these files');
    chmodSync(directory, 0o777);
    const args = and(argumentsFor(1, [await onePlace()], directory), '--client', '127.0.0.1:81');
    const lockd = start(args, nobody.uid);
    if (lowPortsAreFree()) await lockd.serves();
    else await expectEnd(lockd, 2, /--client: cannot listen on 127.0.0.1:81: this user may not; choose/);
  });
});

/** As containers have it. */
function lowPortsAreFree(): boolean {
  if (process.platform !== 'linux') return false;
  return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) <= 81;
}

/** Undefined uid: this one. */
function unprivilegedUser(): { readonly uid?: number } | undefined {
  if (process.getuid?.() !== 0) return {};
  const uid = 65_534;
  const script = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
  return spawnSync(process.execPath, ['--check', script], { uid }).status === 0 ? { uid } : undefined;
}

describe('a stranger to the cluster', () => {
  it('is refused as a peer, with the reason in both logs, and disturbs nobody', async () => {
    const [place, foreign, impostor] = await places(3);
    if (place === undefined || foreign === undefined || impostor === undefined) throw new Error('no places');
    const server = await ready(argumentsFor(1, [place], directory), place);
    const otherCluster = start(and(argumentsFor(2, [place, foreign], directory), '--cluster-id', 'other'));
    const otherMember = start(
      and(
        argumentsFor(3, [place, foreign, impostor], directory),
        '--cluster',
        `1=127.0.0.1:${place.peer},3=127.0.0.1:${impostor.peer}`,
      ),
    );
    for (const [stranger, problem, told] of [
      [otherCluster, 'this server is of another cluster: check --cluster-id', 'check --cluster-id'],
      [otherMember, 'server 3 is no member here, and does not prove to know this one', 'NOT_ADMITTED'],
    ] as const) {
      await Promise.all([server.complains(problem), stranger.complains(told)]);
    }
    expect(await answers(foreign.client, '/ready')).toBe(503);
    expect(await answers(impostor.client, '/ready')).toBe(503);
    expect(await answers(place.client, '/ready')).toBe(200);
  });

  // The others tell it so where their configuration has the number, which is at the first one.
  it('is not let in as a second server of a number, and is told where to look', async () => {
    const [one, two, copy] = await places(3);
    if (one === undefined || two === undefined || copy === undefined) throw new Error('no places');
    const servers = [1, 2].map((id) => start(argumentsFor(id, [one, two], directory)));
    for (const place of [one, two]) await until(async () => (await answers(place.client, '/ready')) === 200);
    const second = start(argumentsFor(2, [one, copy], join(directory, 'copy')));
    await second.complains('a peer does not let this server in; see with \\"lockctl members\\"');
    expect(await answers(copy.client, '/ready')).toBe(503);
    for (const place of [one, two]) expect(await answers(place.client, '/ready')).toBe(200);
    for (const server of servers) expect(server.child.exitCode).toBeNull();
  });

  it('is refused as a client, with the names of both clusters', async () => {
    const place = await onePlace();
    await ready(argumentsFor(1, [place], directory), place);
    const refused = connect({ servers: [`127.0.0.1:${place.client}`], clusterId: 'other', connectTimeoutMs: 5_000 });
    await expect(refused).rejects.toMatchObject({
      code: 'WRONG_CLUSTER',
      retryable: false,
      message: expect.stringMatching(/belongs to cluster "e2e", not "other"; check the addresses/),
    });
  });
});
