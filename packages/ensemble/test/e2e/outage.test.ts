// What an operator can do when no majority lives, and while all disks are almost full: with lockctl, against real servers.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { connect, type Client } from '@holdfast/client';
import { findFreeBasePort, LocalEnsemble } from '@holdfast/ensemble';
import { waitUntil } from '../../src/index.ts';
import { freshBundle } from '../../src/programs.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SmallDisk } from '../support/small-disk.ts';
import { startScratchEnsemble } from './scratch-ensemble.ts';

const ENTRY = freshBundle(createRequire(import.meta.url).resolve('@holdfast/lockctl/main'));
const NOTICED_MS = 20_000;
/** Far below the ten seconds for which lockctl would wait, with room for a busy machine. */
const IN_GOOD_TIME_MS = 7_000;

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

function lockctlAt(servers: readonly string[]) {
  return async (...args: readonly string[]): Promise<Outcome> => {
    const fromMs = performance.now();
    const child = spawn(process.execPath, [ENTRY, '--servers', servers.join(','), ...args]);
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
    }
    const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { status, ...output, tookMs: performance.now() - fromMs };
  };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const reached = await waitUntil(async () => (await condition()) || undefined, NOTICED_MS);
  if (reached === undefined) throw new Error(`not so within ${NOTICED_MS} ms`);
}

describe('an operator of whose servers one of three lives', () => {
  let ensemble: LocalEnsemble;
  let stop: () => Promise<void>;
  let lockctl: ReturnType<typeof lockctlAt>;
  let client: Client;

  beforeAll(async () => {
    ({ ensemble, stop } = await startScratchEnsemble());
    lockctl = lockctlAt(ensemble.clientAddresses);
    client = await connect({ servers: ensemble.clientAddresses, label: 'the holder', closeTimeoutMs: 500 });
    await client.nodes.create('/config', 'blue');
    await client.lock('jobs').acquire();
    // So that whoever is left has all of that.
    const applied = async (): Promise<boolean> => {
      const states = await Promise.all(ensemble.servers.map((id) => ensemble.status(id)));
      return new Set(states.map((state) => state?.appliedIndex)).size === 1;
    };
    await until(applied);
    const leader = await ensemble.waitForLeader();
    // A follower goes with the leader: one is left, and nobody can lead.
    await ensemble.kill((leader % 3) + 1);
    await ensemble.kill(leader);
    const left = ensemble.clientAddresses[((leader + 1) % 3) + 1 - 1];
    await until(async () => (await fetch(`http://${left}/health`)).status === 503);
  });

  afterAll(async () => {
    await client?.close();
    await stop?.();
  });

  const reads: readonly (readonly [readonly string[], RegExp])[] = [
    [['members'], /voter/],
    [['locks'], /jobs .*the holder/],
    [['show', 'jobs'], /holds .*the holder/],
    [['sessions'], /the holder/],
    [['get', '/config'], /^blue$/],
    [['ls', '/'], /config\nholdfast/],
    [['stat', '/config'], /version +0/],
  ];

  it.each(reads)('sees %j with --stale, and which server answered', async (args, shown) => {
    const { status, stdout, stderr, tookMs } = await lockctl(...args, '--stale');
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringMatching(
        /^lockctl: this may be out of date: server \d \(.*\) answered with .* up to index \d+\n$/,
      ),
    });
    expect(stdout).toMatch(shown);
    expect(tookMs).toBeLessThan(IN_GOOD_TIME_MS);
  });

  it('has server and index in the JSON, too', async () => {
    const { status, stdout } = await lockctl('--json', 'members', '--stale');
    expect(status).toBe(0);
    const document = JSON.parse(stdout) as object;
    expect(document).toMatchObject({ leader: 0, stale: { address: expect.any(String), index: expect.any(Number) } });
    expect(document).toMatchObject({ members: [{ server: 1 }, { server: 2 }, { server: 3 }] });
  });

  it.each(reads)('is answered soon that nobody leads when %j needs a leader, and of --stale', async (args) => {
    const { status, stdout, stderr, tookMs } = await lockctl(...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('no server that answers knows a leader');
    expect(stderr).toContain('--stale');
    expect(tookMs).toBeLessThan(IN_GOOD_TIME_MS);
  });

  it.each([[['delete', '/config']], [['session', 'close', '7']], [['transfer']], [['member', 'remove', '1']]])(
    'is answered soon that %j needs a majority',
    async (args) => {
      const { status, stderr, tookMs } = await lockctl(...args);
      expect(status).toBe(1);
      expect(stderr).toContain('no server that answers knows a leader');
      expect(tookMs).toBeLessThan(IN_GOOD_TIME_MS);
    },
  );

  it('gets 75 for a lock, with the reason, when the wait is over', async () => {
    const { status, stderr, tookMs } = await lockctl('lock', 'other', '--wait', '2s', '--', 'true');
    expect({ status, stderr }).toEqual({ status: 75, stderr: expect.stringContaining('no contact to a leader') });
    expect(tookMs).toBeLessThan(IN_GOOD_TIME_MS);
  });
});

describe('an operator while all disks are almost full', () => {
  const MIB = 2 ** 20;
  let disk: SmallDisk | string;
  let ensemble: LocalEnsemble;
  let client: Client;
  let lockctl: ReturnType<typeof lockctlAt>;

  beforeAll(async () => {
    disk = SmallDisk.mount(640);
    if (typeof disk === 'string') return;
    const basePort = await findFreeBasePort(3);
    ensemble = await LocalEnsemble.start({ dataDirectory: disk.path, basePort, fencedKv: false });
    lockctl = lockctlAt(ensemble.clientAddresses);
    client = await connect({ servers: ensemble.clientAddresses, label: 'the holder', sessionTimeoutMs: 60_000 });
    await client.nodes.create('/big', new Uint8Array(100_000));
    await client.lock('jobs').acquire();
    disk.fillUpTo(150 * MIB);
    // Every server has told its leader, and has been told, when none takes a session any more.
    await until(async () => {
      const answers = ensemble.clientAddresses.map((address) => fetch(`http://${address}/ready`));
      return (await Promise.all(answers)).every(({ status }) => status === 503);
    });
  });

  afterAll(async () => {
    if (disk === undefined || typeof disk === 'string') return;
    disk.clear();
    await client?.close();
    await ensemble?.stop();
    disk.unmount();
  });

  it('sees everything, as it is', async (context) => {
    if (typeof disk === 'string') return context.skip(disk);
    const reads = [['members'], ['locks'], ['show', 'jobs'], ['sessions'], ['ls', '/'], ['stat', '/big']];
    for (const args of reads) {
      expect(await lockctl(...args)).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/./) });
    }
    expect(await lockctl('get', '/big')).toMatchObject({ status: 0, stdout: '\0'.repeat(100_000) });
  });

  it('may not make more, and is shown whose disk it is', async (context) => {
    if (typeof disk === 'string') return context.skip(disk);
    const refused = expect.stringMatching(/the disk of server [123] is almost full/);
    expect(await lockctl('--timeout', '1s', 'create', '/more')).toMatchObject({ status: 1, stderr: refused });
    const lock = await lockctl('lock', 'other', '--wait', '1s', '--', 'true');
    expect(lock).toMatchObject({ status: 75, stderr: refused });
  });

  it('deletes, ends a session, transfers leadership and removes a server', async (context) => {
    if (typeof disk === 'string') return context.skip(disk);
    expect(await lockctl('delete', '/big')).toMatchObject({ status: 0, stderr: '' });
    expect(await lockctl('stat', '/big')).toMatchObject({ status: 1, stderr: expect.stringContaining('no node') });

    const ended = new Promise((resolve) => client.events.on('expired', resolve));
    expect(await lockctl('session', 'close', String(client.sessionId))).toMatchObject({ status: 0, stderr: '' });
    await ended;
    expect((await lockctl('locks')).stdout).toBe('No lock is held.\n');

    const leader = await ensemble.waitForLeader();
    const next = (leader % 3) + 1;
    expect(await lockctl('transfer', String(next))).toMatchObject({ status: 0, stdout: `Server ${next} leads.\n` });

    expect(await lockctl('member', 'remove', String(leader))).toMatchObject({ status: 0, stderr: '' });
    const { members } = JSON.parse((await lockctl('--json', 'members')).stdout) as { members: { server: number }[] };
    expect(members.map(({ server }) => server)).toEqual([1, 2, 3].filter((id) => id !== leader));
  });
});
