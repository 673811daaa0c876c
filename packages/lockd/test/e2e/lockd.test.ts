import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { decodeServerFrame, encodeClientFrame } from '@holdfast/protocol';
import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, onePlace, places, status } from './support/places.ts';

const LOCKD = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

let directory: string;
let processes: LockdProcess[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-'));
  processes = [];
});

afterEach(async () => {
  for (const each of processes) each.kill('SIGKILL');
  await Promise.all(processes.map((each) => each.ended()));
  rmSync(directory, { recursive: true, force: true });
});

function start(args: readonly string[], environment: Record<string, string> = {}): LockdProcess {
  const lockd = new LockdProcess(args, environment);
  processes.push(lockd);
  return lockd;
}

describe('a lockd that is told to stop', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('by %s ends with 0, and finds its data again', async (signal) => {
    const place = await onePlace();
    for (const round of [1, 2]) {
      const lockd = start(argumentsFor(1, [place], directory));
      await lockd.serves();
      expect(lockd.stdout).toBe(
        `lockd 1 serves clients at 127.0.0.1:${place.client}, peers at 127.0.0.1:${place.peer}\n`,
      );
      await until(async () => (await answers(place.client, '/ready')) === 200);
      expect((await status(place.client)).term).toBe(round);
      lockd.kill(signal);
      expect(await lockd.ended()).toBe(0);
    }
  });

  it('transfers leadership before it goes', async () => {
    const trio = await places(3);
    const servers = trio.map((_, n) => start(argumentsFor(n + 1, trio, directory)));
    for (const server of servers) await server.serves();
    const firstPort = trio[0]?.client ?? 0;
    await until(async () => (await status(firstPort)).leader !== 0);
    const { leader } = await status(firstPort);
    servers[leader - 1]?.kill('SIGTERM');
    expect(await servers[leader - 1]?.ended()).toBe(0);
    expect(servers[leader - 1]?.stderr).toContain('"outcome":"transferred"');
    const other = trio[leader % 3]?.client ?? 0;
    await until(async () => ![0, leader].includes((await status(other)).leader));
  });
});

describe('the client port', () => {
  it('serves the protocol to clients and refuses web pages', async () => {
    const place = await onePlace();
    const lockd = start(argumentsFor(1, [place], directory));
    await lockd.serves();
    const { network } = nodeRuntime({ logger: silentLogger });
    const connection = await network.dial({
      address: `127.0.0.1:${place.client}`,
      timeoutMs: 5_000,
      maxFrameBytes: 1_000_000,
    });
    const frame = new Promise<Uint8Array>((resolve) => connection.setHandler({ frame: resolve, close: () => {} }));
    connection.send(encodeClientFrame([{ type: 'hello', version: 1, features: 0, clusterId: 'e2e', required: 0 }]));
    expect(decodeServerFrame(await frame)).toMatchObject([
      { type: 'welcome', server: 1, members: [{ server: 1, clientAddress: `127.0.0.1:${place.client}` }] },
    ]);
    connection.destroy();

    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
    const key = { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    expect(await httpStatus(place.client, { ...upgrade, ...key, Origin: 'http://evil.example' })).toBe(403);
    expect(await httpStatus(place.client, { Host: 'evil.example' })).toBe(403);
    expect(await httpStatus(place.client, { Host: `localhost:${place.client}` })).toBe(200);
  });
});

function httpStatus(port: number, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/status', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('upgrade', () => reject(new Error('the upgrade was accepted')));
    asked.on('error', reject);
    asked.end();
  });
}

describe('the exit code of a lockd that cannot serve', () => {
  it('is 2 for wrong arguments, with the reason on standard error', async () => {
    const lockd = start(['--id', '1']);
    expect(await lockd.ended()).toBe(2);
    expect(lockd.stderr).toBe('lockd: --cluster-id is missing; lockd --help prints what it is\n');
    expect(lockd.stdout).toBe('');
  });

  it('is 2 when it would listen to other machines', async () => {
    const place = await onePlace();
    const args = argumentsFor(1, [place], directory);
    const lockd = start(args, { HOLDFAST_ADVERTISE_PEER: '' });
    await lockd.serves();
    const open = start(args.map((arg) => arg.replace(`127.0.0.1:${place.client}`, '0.0.0.0:0')));
    expect(await open.ended()).toBe(2);
    expect(open.stderr).toContain('--insecure');
  });

  it('is 64 when its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const taken = (other.address() as AddressInfo).port;
    const place = await onePlace();
    for (const mine of [
      { client: taken, peer: place.peer },
      { client: place.client, peer: taken },
    ]) {
      expect(await start(argumentsFor(1, [mine], join(directory, `${mine.client}`))).ended()).toBe(64);
    }
    other.close();
  });

  it('is told on a terminal in one plain line, the last', async (context) => {
    const script = spawnSync('script', ['--version'], { encoding: 'utf8' });
    context.skip(!script.stdout?.includes('util-linux'), 'needs script of util-linux');
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const taken = (other.address() as AddressInfo).port;
    const place = { ...(await onePlace()), client: taken };
    const command = [process.execPath, LOCKD, ...argumentsFor(1, [place], join(directory, 'terminal'))].join(' ');
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' });
    const [last = '', before = ''] = stdout.trimEnd().split(/\r?\n/).toReversed();
    expect(last).toMatch(/^lockd: --client: cannot listen on \S+: the port is in use; /);
    expect(JSON.parse(before)).toMatchObject({ exitCode: 64 });
  });

  it('is 65 when its data directory is taken, 66 when that is another server’s, 67 when it is damaged', async () => {
    const [place, other] = await places(2);
    if (place === undefined || other === undefined) throw new Error('no place');
    const data = join(directory, 'server-1');
    const first = start(argumentsFor(1, [place], directory));
    await first.serves();
    await until(async () => (await answers(place.client, '/ready')) === 200);
    expect(await start(argumentsFor(1, [other], directory)).ended()).toBe(65);
    first.kill('SIGKILL');
    await first.ended();
    expect(await start([...argumentsFor(1, [other], directory), '--cluster-id', 'another']).ended()).toBe(66);

    const inspected = start(['inspect', '--data', data]);
    expect(await inspected.ended()).toBe(0);
    expect(inspected.stdout).toMatch(/^server 1 of cluster "e2e".*last index \d+, of term 1/s);

    // One more term in the log, and then a byte of what was written before it is another.
    const again = start(argumentsFor(1, [other], directory));
    await again.serves();
    await until(async () => (await answers(other.client, '/ready')) === 200);
    again.kill('SIGTERM');
    await again.ended();
    const [name = 'none'] = readdirSync(join(data, 'group-0'));
    flipByte(join(data, 'group-0', name), 120);
    const damaged = start(argumentsFor(1, [other], directory));
    expect(await damaged.ended()).toBe(67);
    expect(damaged.stderr).toContain('is damaged at byte');
  });
});

function flipByte(path: string, offset: number): void {
  const file = openSync(path, 'r+');
  const byte = new Uint8Array(1);
  readSync(file, byte, 0, 1, offset);
  writeSync(file, new Uint8Array([(byte[0] ?? 0) ^ 0xff]), 0, 1, offset);
  closeSync(file);
}

describe('a command line that people get wrong', () => {
  it.each([
    [['--id'], {}, "option '--id <number>' argument missing"],
    [['--client', '::1:7101'], {}, '--client "::1:7101" must have its IPv6 host in brackets'],
    [[], { HOLDFAST_HEARTBEAT_MS: 'fast' }, 'HOLDFAST_HEARTBEAT_MS "fast" must be a whole number from 10 to 60000'],
    [['--config', '/nowhere/lockd.yaml'], {}, '--config /nowhere/lockd.yaml cannot be used: ENOENT: no such file'],
    [['--config', tmpdir()], {}, 'cannot be used: EISDIR'],
  ])('is answered in one line, with exit code 2: %j %j', async (args, environment, message) => {
    const lockd = start([...argumentsFor(1, [await onePlace()], directory), ...args], environment);
    expect(await lockd.ended()).toBe(2);
    expect(lockd.stderr).toContain(message);
    expect(lockd.stderr).toMatch(/^lockd: [^\n]+\n$/);
    expect(lockd.stdout).toBe('');
    expect(readdirSync(directory)).toEqual([]);
  });
});
