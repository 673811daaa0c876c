import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';

import { findFreeBasePort, LocalEnsemble, waitUntil } from '../../src/index.ts';
import { freshBundle } from '../../src/programs.ts';

const ENTRY = freshBundle(createRequire(import.meta.url).resolve('@holdfast/lockctl/main'));
const BOUND_MS = 30_000;

let ensemble: LocalEnsemble;
let data: string;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'holdfast-lockctl-'));
  const basePort = await findFreeBasePort(3);
  ensemble = await LocalEnsemble.start({ dataDirectory: data, basePort, fencedKv: false });
});
afterAll(async () => {
  await ensemble?.stop();
  rmSync(data, { recursive: true, force: true });
});

const env = () => ({ ...process.env, HOLDFAST_SERVERS: ensemble.clientAddresses.join(',') });

function lockctl(args: readonly string[], input?: string) {
  const options = {
    encoding: 'utf8',
    env: env(),
    timeout: BOUND_MS,
    ...(input === undefined ? {} : { input }),
  } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [ENTRY, ...args], options);
  return { status, stdout, stderr };
}

interface Started {
  readonly child: ChildProcess;
  output: string;
  readonly ended: Promise<number | null>;
}

function start(...args: string[]): Started {
  const child = spawn(process.execPath, [ENTRY, ...args], { env: env(), stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const started: Started = {
    child,
    output: '',
    ended: new Promise((resolve) => {
      child.once('close', (code) => resolve(code));
    }),
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (started.output += text));
  }
  return started;
}

async function printed(started: Started, text: string): Promise<void> {
  const seen = await waitUntil(() => Promise.resolve(started.output.includes(text) || undefined), BOUND_MS);
  if (seen === undefined) throw new Error(`"${text}" was not printed, only:\n${started.output}`);
}

function token(lock: string): number {
  const { status, stdout, stderr } = lockctl(['lock', lock, '--', 'sh', '-c', 'echo $HOLDFAST_TOKEN']);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return Number(stdout);
}

describe('lockctl lock', () => {
  it('prints rising tokens, also across kill -9 of the leader and of every server', async () => {
    const tokens = [token('rising'), token('rising')];
    const leader = await ensemble.waitForLeader();
    await ensemble.kill(leader);
    tokens.push(token('rising'));
    await ensemble.restart(leader);
    tokens.push(token('rising'));
    await ensemble.killAll();
    for (const id of ensemble.servers) ensemble.launch(id);
    await ensemble.waitUntilReady();
    tokens.push(token('rising'));
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  });

  it('excludes: the next command runs when the first has ended', async () => {
    const log = join(data, 'order.txt');
    const first = start('lock', 'queue', '--', 'sh', '-c', `echo first in; sleep 1; echo first >> ${log}`);
    await printed(first, 'first in');
    const second = start('lock', 'queue', '--', 'sh', '-c', `echo second >> ${log}`);
    expect(await second.ended).toBe(0);
    expect(readFileSync(log, 'utf8')).toBe('first\nsecond\n');
    expect(await first.ended).toBe(0);
  });

  it('ends with the exit code of its command', () => {
    expect(lockctl(['lock', 'code', '--', 'sh', '-c', 'exit 42']).status).toBe(42);
    expect(lockctl(['lock', 'code', '--', 'no-such-command-here'])).toMatchObject({ status: 127 });
  });

  it('passes a signal on, waits for its command, and gives the lock back', async () => {
    const holder = start(
      'lock',
      'signals',
      '--',
      'sh',
      '-c',
      'trap "echo caught; exit 5" TERM; echo in; while :; do sleep 0.05; done',
    );
    await printed(holder, 'in');
    holder.child.kill('SIGTERM');
    expect(await holder.ended).toBe(5);
    expect(holder.output).toContain('caught');
    expect(lockctl(['lock', 'signals', '--wait', '0', '--', 'true']).status).toBe(0);
  });

  it('exits with 75 while another holds, naming it, and with 76 when the lock is lost', async () => {
    const holder = start('lock', 'held', '--', 'sh', '-c', 'echo in; sleep 600');
    await printed(holder, 'in');
    const late = lockctl(['lock', 'held', '--wait', '200ms', '--', 'true']);
    expect(late.status).toBe(75);
    expect(late.stderr).toMatch(
      /lock "held" was not acquired within 0.2 s, held by session \d+ \(lockctl .*\) with token \d+/,
    );

    const { holders } = JSON.parse(lockctl(['--json', 'show', 'held']).stdout) as { holders: { session: number }[] };
    expect(lockctl(['session', 'close', String(holders[0]?.session)]).status).toBe(0);
    expect(await holder.ended).toBe(76);
    expect(holder.output).toContain('lock "held" was lost while the command ran');
  });

  it('loses the lock when it cannot renew, and ends its command', async () => {
    const holder = start('lock', 'partition', '--session-timeout', '2s', '--', 'sh', '-c', 'echo in; sleep 600');
    await printed(holder, 'in');
    for (const id of ensemble.servers) ensemble.pause(id);
    try {
      expect(await holder.ended).toBe(76);
    } finally {
      for (const id of ensemble.servers) ensemble.resume(id);
    }
    await ensemble.waitUntilReady();
  });
});

describe('lockctl', () => {
  it('shows the status of every server, unreachable ones too', async () => {
    const leader = await ensemble.waitForLeader();
    const follower = ensemble.servers.find((id) => id !== leader) ?? 0;
    await ensemble.stopServer(follower);
    const { status, stdout } = lockctl(['--json', 'status']);
    await ensemble.restart(follower);
    expect(status).toBe(0);
    const { servers } = JSON.parse(stdout) as { servers: { reachable: boolean; role?: string }[] };
    expect(servers.map(({ reachable }) => reachable)).toEqual(ensemble.servers.map((id) => id !== follower));
    expect(servers.filter(({ role }) => role === 'leader')).toHaveLength(1);
  });

  it('lists a held lock with its holder and waiters, and the sessions', async () => {
    const holder = start('lock', 'list/me', '--', 'sh', '-c', 'echo in; sleep 600');
    await printed(holder, 'in');
    const waiter = start('lock', 'list/me', '--', 'true');
    const queued = await waitUntil(async () => {
      const { waiters } = JSON.parse(lockctl(['show', 'list/me', '--json']).stdout) as { waiters: unknown[] };
      return await Promise.resolve(waiters.length === 1 || undefined);
    }, BOUND_MS);
    expect(queued).toBe(true);
    expect(lockctl(['locks', 'list/']).stdout).toMatch(/list\/me +\d+ +\d+ +lockctl .*1\n$/);
    expect(lockctl(['sessions']).stdout).toContain('lockctl');
    holder.child.kill('SIGTERM');
    expect(await holder.ended).toBe(143);
    expect(await waiter.ended).toBe(0);
    expect(lockctl(['locks', 'list/']).stdout).toContain('is held');
  });

  it('creates, reads, changes and deletes nodes', () => {
    expect(lockctl(['create', '/e2e', 'one'])).toEqual({ status: 0, stdout: '/e2e\n', stderr: '' });
    expect(lockctl(['get', '/e2e']).stdout).toBe('one');
    expect(lockctl(['set', '/e2e', '-', '--version', '0'], 'two').stdout).toBe('version 1\n');
    expect(lockctl(['get', '/e2e']).stdout).toBe('two');
    expect(lockctl(['set', '/e2e', 'x', '--version', '0'])).toMatchObject({ status: 1 });
    expect(lockctl(['create', '/e2e/child-', '--sequential']).stdout).toMatch(/^\/e2e\/child-\d{10}\n$/);
    expect(lockctl(['ls', '/e2e']).stdout).toMatch(/^child-\d{10}\n$/);
    expect(lockctl(['delete', '/e2e'])).toMatchObject({ status: 1 });
    expect(lockctl(['stat', '/e2e']).stdout).toContain('none: persistent');
    expect(lockctl(['get', '/none'])).toMatchObject({ status: 1, stdout: '' });
    expect(lockctl(['create', '/e2e', 'again']).stderr).toMatch(/^lockctl: .*change it with "lockctl set"\n$/);
  });

  it('says in one line, with exit code 1, that no ensemble is there', async () => {
    const { status, stderr } = lockctl([
      '--servers',
      `127.0.0.1:${await findFreeBasePort(1)}`,
      '--timeout',
      '1s',
      'locks',
    ]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^lockctl: [^\n]*is the ensemble running\?[^\n]*\n$/);
  });
});
