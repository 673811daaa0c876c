/** What operators do to a server that runs: real processes, the socket in the data directory, and clients that write meanwhile. */

import { spawnSync } from 'node:child_process';
import { chmod, readFile, rm, stat } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { FencedKv, StaleTokenError } from '@holdfast/fenced-kv-client';
import type { Bucket } from '@holdfast/fenced-kv-client';
import { describe, expect, it } from 'vitest';

import { run, serve } from './daemon.ts';
import { eachInDirectory } from './scratch.ts';

const KEYS = 20;
/** So that a backup has many turns, and writes are committed between them. */
const VALUE_LENGTH = 60_000;
const LARGE_BYTES = 3_000_000;

let directory: string;
let data: string;
let file: string;

eachInDirectory((made) => {
  directory = made;
  data = join(directory, 'data');
  file = join(directory, 'monday');
});

/** Each batch gives every key the same number: what has two numbers existed at no revision. */
class Load {
  acknowledged = 0;
  #stopped = false;
  readonly #ended: Promise<void>;

  constructor(bucket: Bucket) {
    this.#ended = this.#write(bucket);
    // Where the test fails first, its server ends under the load; `stop` tells every other failure.
    this.#ended.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ended;
  }

  async #write(bucket: Bucket): Promise<void> {
    const keys = Array.from({ length: KEYS }, (_, key) => `k${key}`);
    for (let number = 1; !this.#stopped; number += 1) {
      await bucket.batch(keys.map((key) => ({ op: 'put', key, value: String(number).padEnd(VALUE_LENGTH) })));
      if (number % 10 === 0) await bucket.put('large', new Uint8Array(LARGE_BYTES).fill(number % 256));
      this.acknowledged = number;
      // Commands that are under test need the processor, too.
      await sleep(40);
    }
  }
}

/** The number of all keys of the batch in a store that is made of the backup, and that a stale token is stale there. */
async function restoredNumber(from: string, name: string): Promise<number> {
  const into = join(directory, name);
  expect(await run('restore', '--data', into, '--from', from)).toMatchObject({ exitCode: 0 });
  const server = await serve(into);
  const bucket = new FencedKv(server.url).bucket('accounts');
  const numbers = new Set<string>();
  for (const { key } of (await bucket.list({ prefix: 'k' })).keys) {
    numbers.add(new TextDecoder().decode((await bucket.get(key))?.value).trimEnd());
  }
  expect(numbers.size).toBe(1);
  const large = (await bucket.get('large'))?.value ?? new Uint8Array(0);
  expect(large.every((byte) => byte === large[0])).toBe(true);
  await expect(bucket.fencedBy({ token: 56 })).rejects.toBeInstanceOf(StaleTokenError);
  await server.stop('SIGTERM');
  return Number([...numbers][0]);
}

describe('fenced-kvd backup of a server that runs', () => {
  it('is one state of all buckets, with what was acknowledged before, while clients write on', async () => {
    const server = await serve(data);
    const load = new Load(await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 57 }));
    // From the tenth on, the large value is there.
    await expect.poll(() => load.acknowledged, { timeout: 60_000 }).toBeGreaterThanOrEqual(10);
    const taken: { readonly before: number; readonly after: number }[] = [];
    for (let round = 0; round < 2; round += 1) {
      const before = load.acknowledged;
      const { exitCode, stdout, stderr } = await run('backup', '--data', data, '--to', `${file}-${round}`);
      taken.push({ before, after: load.acknowledged });
      expect([exitCode, stdout, stderr]).toEqual([0, `backup ${file}-${round}: 1 buckets, ${KEYS + 1} keys\n`, '']);
    }
    await load.stop();
    expect((await server.stop('SIGTERM')).exitCode).toBe(0);
    expect((await stat(`${file}-0`)).mode & 0o077).toBe(0);
    for (const [round, { before, after }] of taken.entries()) {
      const number = await restoredNumber(`${file}-${round}`, `restored-${round}`);
      expect(number).toBeGreaterThanOrEqual(before);
      // One batch may have been on its way.
      expect(number).toBeLessThanOrEqual(after + 1);
      expect(after).toBeGreaterThan(before);
    }
  });

  it('has the bytes of the backup that is taken when it has stopped', async () => {
    const server = await serve(data);
    const bucket = await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 57 });
    await bucket.put('k', 'v', { ttlMs: 1_000_000 });
    await bucket.put('large', new Uint8Array(LARGE_BYTES));
    await new FencedKv(server.url).bucket('empty').create({ tokens: 'optional', lock: 'jobs' });
    expect((await run('backup', '--data', data, '--to', file)).exitCode).toBe(0);
    await server.stop('SIGTERM');
    expect((await run('backup', '--data', data, '--to', `${file}-stopped`)).exitCode).toBe(0);
    expect((await readFile(file)).equals(await readFile(`${file}-stopped`))).toBe(true);
  });

  it('is not there under its name where the server ends in the middle', async () => {
    const server = await serve(data);
    const bucket = await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 57 });
    for (let key = 0; key < 10; key += 1) await bucket.put(`large${key}`, new Uint8Array(16_000_000));
    // Nothing of it is read until the server has gone.
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request({ socketPath: join(data, 'admin/socket'), path: '/admin/v1/backup' }, resolve);
      asked.once('error', reject).end();
    });
    const second = await run('backup', '--data', data, '--to', file);
    expect(second).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is being taken already') });
    const { exitCode, stderr } = await server.stop('SIGTERM');
    expect([exitCode, stderr.includes('a backup was not taken to its end')]).toEqual([0, true]);
    answer.on('error', () => {});
    answer.resume();
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('fenced-kvd bind and reset-fence on a server that runs', () => {
  it('are in force at once, are lines of its log, and outlive it', async () => {
    const server = await serve(data, { args: ['--allow-token-jumps'] });
    const kv = new FencedKv(server.url);
    const far = await kv.bucket('accounts').fencedBy({ token: Number.MAX_SAFE_INTEGER });
    await far.put('k', 'v');
    const reset = ['reset-fence', 'accounts', '--data', data, '--to', '5'];
    const refused = await run(...reset);
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain(`confirm with --from ${Number.MAX_SAFE_INTEGER}`);
    expect(await run(...reset, '--from', '56')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('not 56'),
    });
    for (const previous of [String(Number.MAX_SAFE_INTEGER), '5']) {
      expect(await run(...reset, '--from', String(Number.MAX_SAFE_INTEGER))).toMatchObject({
        exitCode: 0,
        stdout: `bucket accounts: highest token ${previous} -> 5\n`,
      });
    }
    await (await kv.bucket('accounts').fencedBy({ token: 6 })).put('k', 'w');
    await expect(kv.bucket('accounts').fencedBy({ token: 4 })).rejects.toBeInstanceOf(StaleTokenError);
    const bind = ['bind', 'accounts', '--data', data, '--lock', 'jobs'];
    for (const previous of ['none', 'jobs']) {
      expect(await run(...bind)).toMatchObject({ exitCode: 0, stdout: `bucket accounts: lock ${previous} -> jobs\n` });
    }
    expect(await kv.bucket('accounts').info()).toMatchObject({ lock: 'jobs', highest: 6 });
    expect(await run('bind', 'nobody', '--data', data, '--lock', 'jobs')).toMatchObject({
      exitCode: 1,
      stderr: 'fenced-kvd: bucket "nobody" does not exist; the first write or installed token creates it\n',
    });
    expect((await run('bind', 'a b', '--data', data, '--lock', 'jobs')).exitCode).toBe(2);
    expect((await run('restore', '--data', data, '--from', file)).exitCode).toBe(2);
    const { stderr } = await server.stop('SIGKILL');
    expect(stderr).toMatch(/"operator":"[^"]+".*"highest":5,"previous":9007199254740991.*an operator reset the fence/);
    expect(stderr).toMatch(/"lock":"jobs","previous":null.*an operator bound a bucket/);
    // The socket that a killed process has left is in nobody's way.
    const again = await serve(data);
    expect(await new FencedKv(again.url).bucket('accounts').info()).toMatchObject({ lock: 'jobs', highest: 6 });
    expect((await run(...bind)).exitCode).toBe(0);
    await again.stop('SIGTERM');
  });
});

describe('the socket for operators', () => {
  it('is for the user of the server alone, whatever the umask', async () => {
    const umask = process.umask(0);
    try {
      const server = await serve(data);
      expect((await stat(join(data, 'admin'))).mode & 0o777).toBe(0o700);
      const other = { uid: 65_534, gid: 65_534 };
      if (process.getuid?.() === 0) {
        const script = `require('node:net').connect(${JSON.stringify(join(data, 'admin/socket'))}).on('error', (e) => console.log(e.code))`;
        // The directory above is the test's own: what keeps the other user out must be the one of the socket.
        for (const each of [directory, data]) await chmod(each, 0o755);
        const { stdout } = spawnSync(process.execPath, ['-e', script], { ...other, encoding: 'utf8' });
        expect(stdout.trim()).toBe('EACCES');
      }
      await server.stop('SIGTERM');
    } finally {
      process.umask(umask);
    }
  });

  it('is not demanded: a path that is too long for one is a warning, and a command says so', async () => {
    const deep = join(directory, 'd'.repeat(120));
    const server = await serve(deep);
    await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 57 });
    const refused = await run('backup', '--data', deep, '--to', file);
    expect(refused).toMatchObject({ exitCode: 65, stderr: expect.stringContaining('no server takes commands at') });
    const { stderr } = await server.stop('SIGTERM');
    expect(stderr).toContain('choose a shorter --data');
    expect((await run('backup', '--data', deep, '--to', file)).exitCode).toBe(0);
  });

  it('of something else, or of a server that is cut off, gives no command an answer that is believed', async () => {
    const server = await serve(data);
    await (await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 57 })).put('k', 'v');
    expect((await run('backup', '--data', data, '--to', `${file}-whole`)).exitCode).toBe(0);
    const whole = await readFile(`${file}-whole`);
    // The data is locked, and another program has the socket.
    const socket = join(data, 'admin/socket');
    await rm(socket);
    let says: Uint8Array = Buffer.from('oops');
    const stranger = createServer((connection) => {
      connection.resume();
      connection.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
      connection.end(says);
    });
    await new Promise<void>((resolve) => {
      stranger.listen(socket, resolve);
    });
    const bound = await run('bind', 'accounts', '--data', data, '--lock', 'jobs');
    expect(bound).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('give the command again') });
    const backup = ['backup', '--data', data, '--to', file];
    expect(await run(...backup)).toMatchObject({ exitCode: 67, stderr: expect.stringContaining('is not a backup') });
    says = whole.subarray(0, whole.length - 10);
    expect(await run(...backup)).toMatchObject({ exitCode: 67, stderr: expect.stringContaining('was cut') });
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
    says = whole;
    expect((await run(...backup)).exitCode).toBe(0);
    await new Promise((resolve) => {
      stranger.close(resolve);
    });
    await server.stop('SIGTERM');
  });
});
