import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type Client } from '@holdfast/client';
import { findFreeBasePort, LocalEnsemble, type ExitReport } from '@holdfast/ensemble';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SmallDisk } from '../../support/small-disk.ts';

const EXITED = { timeout: 20_000, interval: 50 };

let directory: string;
let ensemble: LocalEnsemble;
let client: Client;
const exits: ExitReport[] = [];
const acknowledged: string[] = [];

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (spawnSync('strace', ['-V']).error !== undefined) return 'needs strace';
  const permitted = spawnSync('strace', ['-e', 'trace=none', 'true']).status === 0;
  return permitted ? undefined : 'may not trace processes here';
}

beforeAll(async () => {
  if (missing() !== undefined) return;
  directory = mkdtempSync(join(tmpdir(), 'holdfast-e2e-'));
  ensemble = await LocalEnsemble.start({
    dataDirectory: directory,
    basePort: await findFreeBasePort(3),
    fencedKv: false,
    onUnexpectedExit: (report) => exits.push(report),
  });
  client = await connect({ servers: ensemble.clientAddresses, sessionTimeoutMs: 60_000 });
});

afterAll(async () => {
  if (directory === undefined) return;
  await client?.close();
  await ensemble?.stop();
  rmSync(directory, { recursive: true, force: true });
});

// What one test has left behind is not the next one's fault.
afterEach(async () => {
  for (const id of ensemble?.servers ?? []) await ensemble.restart(id);
});

interface Failing {
  /** The traced process is gone. */
  readonly ended: Promise<unknown>;
}

/** From now on these system calls of the process fail. */
async function failCalls(pid: number, calls: string, errno: string): Promise<Failing> {
  const strace = spawn('strace', [
    '-f',
    '-e',
    `inject=${calls}:error=${errno}`,
    '-e',
    `trace=${calls}`,
    '-p',
    `${pid}`,
  ]);
  // Asked for at once: a write may fail, and everything be over, before anybody has read that strace is attached.
  const ended = once(strace, 'close');
  let output = '';
  strace.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  await expect.poll(() => output, { timeout: 10_000 }).toContain('attached');
  return { ended };
}

async function create(): Promise<void> {
  const path = `/n${String(acknowledged.length).padStart(3, '0')}`;
  await client.nodes.create(path, new Uint8Array(500));
  acknowledged.push(path);
}

async function expectEverything(): Promise<void> {
  const { names } = await client.nodes.children('/');
  expect(names).toEqual(['holdfast', ...acknowledged.map((path) => path.slice(1))]);
}

async function catchesUp(id: number): Promise<void> {
  const leader = await ensemble.waitForLeader();
  const target = await vi.waitUntil(async () => (await ensemble.status(leader))?.commitIndex, EXITED);
  await expect.poll(async () => (await ensemble.status(id))?.appliedIndex, EXITED).toBeGreaterThanOrEqual(target);
}

describe.each(['leader', 'follower'])('a %s whose disk fails', (role) => {
  it.for(['EIO', 'EROFS', 'ENOSPC'])(
    'with %s at a write ends with 68 and names the file; the others go on, and it comes back with everything',
    async (errno, context) => {
      const reason = missing();
      if (reason !== undefined) return context.skip(reason);
      const leader = await ensemble.waitForLeader();
      const victim = role === 'leader' ? leader : (ensemble.servers.find((id) => id !== leader) ?? 0);
      await create();
      exits.length = 0;
      const { ended } = await failCalls(ensemble.pid(victim) ?? 0, 'pwrite64,pwritev,pwritev2', errno);
      for (let n = 0; n < 10; n += 1) await create();
      await expect.poll(() => exits.length, EXITED).toBe(1);
      await ended;
      const [report] = exits;
      expect(report).toMatchObject({ name: `lockd ${victim}`, exit: { code: 68 } });
      const log = readFileSync(report?.logFile ?? '', 'utf8');
      expect(log).toMatch(new RegExp(`cannot append to \\S+/server-${victim}/group-0/\\d+-\\d+\\.wal: ${errno}`));
      await expectEverything();

      await ensemble.restart(victim);
      await catchesUp(victim);
      await create();
      await expectEverything();
    },
  );
});

const PROGRAM = fileURLToPath(new URL('../../../../lockd/dist/main.js', import.meta.url));

function lockdArguments(data: string): string[] {
  const addresses = ['--client', '127.0.0.1:0', '--peer', '127.0.0.1:0'];
  return [PROGRAM, '--id', '1', '--cluster-id', 'local', ...addresses, '--data', data];
}

/** Runs a server until it ends by itself, with strace's options about what fails. */
function runTraced(
  options: readonly string[],
  data: string,
): { readonly status: number | null; readonly stderr: string } {
  const trace = ['-f', '-o', join(directory, 'trace'), ...options];
  return spawnSync('strace', [...trace, process.execPath, ...lockdArguments(data)], {
    encoding: 'utf8',
    timeout: 20_000,
  });
}

describe('a server that cannot read its log', () => {
  it('does not start, ends with 68, and names the file', async (context) => {
    const reason = missing();
    if (reason !== undefined) return context.skip(reason);
    const data = ensemble.directory.server(1);
    const [segment = ''] = readdirSync(join(data, 'group-0')).filter((name) => name.endsWith('.wal'));
    const path = join(data, 'group-0', segment);
    await ensemble.stopServer(1);
    const { status, stderr } = runTraced(['-P', path, '-e', 'inject=pread64:error=EIO'], data);
    expect(status, stderr).toBe(68);
    expect(stderr).toContain(`cannot read ${path}: EIO`);
    await ensemble.restart(1);
    await expectEverything();
  });
});

describe('a new server that cannot make its directory durable', () => {
  it.for(['fsync', 'fdatasync'])('(EIO at %s) ends with 68, and starts over the next time', async (call, context) => {
    const reason = missing();
    if (reason !== undefined) return context.skip(reason);
    const data = join(directory, `new-${call}`);
    const { status, stderr } = runTraced(['-e', `trace=${call}`, '-e', `inject=${call}:error=EIO`], data);
    expect(status, stderr).toBe(68);
    expect(stderr).toMatch(/cannot (sync|make the directory) .*: EIO/);
    expect(readdirSync(data)).not.toContain('identity.json');
    const again = spawn(process.execPath, lockdArguments(data), { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = (await once(again.stdout, 'data')) as [Buffer];
    expect(String(line)).toContain('serves clients at');
    again.kill('SIGTERM');
    expect(await once(again, 'exit')).toEqual([0, null]);
  });
});

describe('a server on a file system that is read-only', () => {
  it('does not start, and ends with 68', (context) => {
    const disk = SmallDisk.mount(256, 'ro');
    if (typeof disk === 'string') return context.skip(disk);
    try {
      for (const data of [disk.path, join(disk.path, 'server-1')]) {
        const { status, stderr } = spawnSync(process.execPath, lockdArguments(data), { encoding: 'utf8' });
        expect(status, stderr).toBe(68);
        expect(stderr).toContain('EROFS: read-only file system');
      }
    } finally {
      disk.unmount();
    }
  });
});
