import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { FencedKv, StaleTokenError } from '@holdfast/fenced-kv-client';
import { RESERVED_DESCRIPTORS } from '../../src/limits.ts';
import { LMDB_FILE_NAME } from '../../src/engines/lmdb-engine.ts';
import { run, serve } from './daemon.ts';
import { eachInDirectory } from './scratch.ts';

let directory: string;
let data: string;

eachInDirectory((made) => {
  directory = made;
  data = join(directory, 'a.b', 'data');
});

describe('fenced-kvd', () => {
  it('keeps data and highest token over kill -9 in the middle of writing', async () => {
    let server = await serve(data);
    let acknowledged = 0;
    for (let round = 1; round <= 3; round += 1) {
      const bucket = await new FencedKv(server.url).bucket('accounts').fencedBy({ token: round * 10 });
      let writing = true;
      const writers = Array.from({ length: 4 }, async () => {
        while (writing) {
          const { revision } = await bucket.put('42', `${round}`);
          acknowledged = Math.max(acknowledged, revision);
        }
      });
      const ended = Promise.allSettled(writers);
      while (acknowledged < round * 40) await bucket.get('42');
      const { exitCode } = await server.stop('SIGKILL');
      writing = false;
      await ended;
      expect(exitCode).toBeNull();
      server = await serve(data);
      const info = await new FencedKv(server.url).bucket('accounts').info();
      expect(info?.highest).toBe(round * 10);
      expect(info?.revision).toBeGreaterThanOrEqual(acknowledged);
      await expect(
        new FencedKv(server.url).bucket('accounts').fencedBy({ token: round * 10 - 1 }),
      ).rejects.toBeInstanceOf(StaleTokenError);
    }
    await server.stop('SIGTERM');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('stops cleanly at %s', async (signal) => {
    const server = await serve(data);
    await new FencedKv(server.url).bucket('b').fencedBy({ token: 1 }); // leaves a connection that is kept alive
    const { exitCode, stdout, stderr } = await server.stop(signal);
    expect([exitCode, stdout]).toEqual([0, `fenced-kvd serves ${server.url}\n`]);
    for (const line of stderr.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ name: 'fenced-kvd' });
  });

  it('lets no other user at its data, whatever the umask, nor at what it finds open to them', async () => {
    const openToOthers = async (): Promise<string[]> => {
      const paths = [data, ...(await readdir(data)).map((name) => join(data, name))];
      const modes = await Promise.all(paths.map(async (path) => (await stat(path)).mode & 0o077));
      return paths.filter((_, index) => modes[index] !== 0);
    };
    const umask = process.umask(0);
    try {
      const first = await serve(data);
      await new FencedKv(first.url).bucket('b').fencedBy({ token: 57 });
      expect(await openToOthers()).toEqual([]);
      await first.stop('SIGTERM');
      for (const name of await readdir(data)) await chmod(join(data, name), 0o644);
      await chmod(data, 0o755);
      const second = await serve(data);
      expect(await openToOthers()).toEqual([]);
      expect((await second.stop('SIGTERM')).stderr).toContain('other users could get at the data directory');
      const third = await serve(data);
      expect((await third.stop('SIGTERM')).stderr).not.toContain('other users');
    } finally {
      process.umask(umask);
    }
  });

  it('logs nothing when told so', async () => {
    const server = await serve(data, { args: ['--log-level', 'silent'] });
    expect((await server.stop('SIGTERM')).stderr).toBe('');
  });

  it('exits with 65 where another one runs on the data, which goes on', async () => {
    const first = await serve(data);
    const { exitCode, stderr } = await run('--listen', '127.0.0.1:0', '--data', data);
    expect(exitCode).toBe(65);
    expect(stderr).toContain(data);
    expect((await fetch(`${first.url}/health`)).status).toBe(200);
    await first.stop('SIGTERM');
  });

  it('exits with 64 where the port is in use', async () => {
    const first = await serve(data);
    const address = new URL(first.url).host;
    const { exitCode, stderr } = await run('--listen', address, '--data', join(directory, 'other'));
    expect(exitCode).toBe(64);
    expect(stderr).toContain(address);
    await first.stop('SIGTERM');
  });

  it('exits with 67 where the data is damaged', async () => {
    await (await serve(data)).stop('SIGTERM');
    await writeFile(join(data, LMDB_FILE_NAME), Buffer.alloc(50_000, 0x5a));
    const { exitCode, stderr } = await run('--listen', '127.0.0.1:0', '--data', data);
    expect(exitCode).toBe(67);
    expect(stderr).toContain(LMDB_FILE_NAME);
  });

  it('exits with 68 where the data cannot be kept', async () => {
    await writeFile(join(directory, 'file'), '');
    expect((await run('--listen', '127.0.0.1:0', '--data', join(directory, 'file', 'data'))).exitCode).toBe(68);
  });

  it('exits with 2 and a reason where the command line is wrong', async () => {
    const closed = await run('--listen', '192.0.2.1:7400', '--insecure', '--data', data);
    expect([closed.exitCode, closed.stdout]).toEqual([2, '']);
    expect(closed.stderr).toContain('fenced-kvd: cannot listen on 192.0.2.1:7400');
    const bogus = await run('--bogus');
    expect([bogus.exitCode, bogus.stdout]).toEqual([2, '']);
    expect(bogus.stderr).toContain('--bogus');
  });

  it('accepts no more connections than the system allows it open files, and says so', async () => {
    const wrapper = ['sh', '-c', 'ulimit -n 128 && exec "$@"', 'sh'];
    const server = await serve(data, { wrapper });
    const { hostname, port } = new URL(server.url);
    const sockets = Array.from({ length: 200 }, () => connect(Number(port), hostname).on('error', () => undefined));
    const room = 128 - RESERVED_DESCRIPTORS;
    let closed = 0;
    await new Promise<void>((resolve) => {
      for (const socket of sockets) {
        socket.resume().on('close', () => {
          closed += 1;
          if (closed === sockets.length - room) resolve();
        });
      }
    });
    await Promise.all(sockets.map(async (socket) => socket.closed || (await once(socket.destroy(), 'close'))));
    const answers = (): Promise<boolean> =>
      fetch(`${server.url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await answers()));
    // The descriptors that were kept are enough to write.
    await new FencedKv(server.url).bucket('b').fencedBy({ token: 57 });
    const { exitCode, stderr } = await server.stop('SIGTERM');
    expect(exitCode).toBe(0);
    expect(stderr).toContain(`${room} client connections are accepted instead of 4096`);
    expect(stderr).not.toContain('EMFILE');
  });

  it('exits with 2 where hardly any open files are allowed, unless it wants few connections', async () => {
    const few = ['sh', '-c', 'ulimit -n 80 && exec "$@"', 'sh'];
    await expect(serve(data, { wrapper: few })).rejects.toThrow(/"exitCode":2.*RLIMIT_NOFILE.*ulimit -n 4160/);
    const server = await serve(data, { wrapper: few, args: ['--max-connections', '16'] });
    expect((await server.stop('SIGTERM')).stderr).not.toContain('RLIMIT_NOFILE');
  });

  it('is refused to web pages', async () => {
    const server = await serve(data);
    const health = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${server.url}/health`, { headers })).status;
    expect(await health({})).toBe(200);
    expect(await health({ origin: 'http://evil.example' })).toBe(403);
    const { hostname, port } = new URL(server.url);
    expect(await rawStatus(hostname, Number(port), 'evil.example')).toContain('403');
    expect(await rawStatus(hostname, Number(port), `localhost:${port}`)).toContain('200');
    await server.stop('SIGTERM');
  });
});

describe('fenced-kvd whose client goes away in the middle of its request', () => {
  it('writes nothing of it, and has nothing to complain of', async () => {
    const server = await serve(data);
    const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: 57 });
    const { hostname, port } = new URL(server.url);
    const head = [
      'PUT /v1/buckets/b/keys/k HTTP/1.1',
      `Host: ${hostname}:${port}`,
      'Fencing-Token: 58',
      'Content-Type: application/octet-stream',
    ];
    for (const length of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
      const socket = connect(Number(port), hostname);
      socket.write(`${[...head, length].join('\r\n')}\r\n\r\n5\r\nhello`);
      await once(socket, 'connect');
      expect(await bucket.get('k')).toBeUndefined();
      socket.destroy();
      await once(socket, 'close');
    }
    expect(await bucket.info()).toMatchObject({ highest: 57, keys: 0 });
    const { exitCode, stderr } = await server.stop('SIGTERM');
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain('"level":50');
  });
});

describe('fenced-kvd whose disk fails', () => {
  it('answers that the write may have happened, exits with 68, and has every acknowledged write after a restart', async () => {
    // A limit on the size of files is a full disk that needs no privileges: 4 MiB in blocks of 512 or 1,024 bytes.
    const limited = await serve(data, { wrapper: ['sh', '-c', 'ulimit -f 4096; exec "$@"', 'sh'] });
    const bucket = await new FencedKv(limited.url).bucket('b').fencedBy({ token: 57 });
    let acknowledged = 0;
    const failure = await (async () => {
      for (;;) await bucket.put(`k${acknowledged}`, new Uint8Array(200_000)).then(() => (acknowledged += 1));
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'DISK_ERROR', indeterminate: true });
    expect(acknowledged).toBeGreaterThan(5);
    const { exitCode, stderr } = await limited.ended;
    expect(exitCode).toBe(68);
    expect(stderr).toContain('fenced-kvd: a write could not be made durable');
    const server = await serve(data);
    const { keys } = await new FencedKv(server.url).bucket('b').list({ limit: 1_000 });
    expect(keys.length).toBeGreaterThanOrEqual(acknowledged);
    expect(keys.length).toBeLessThanOrEqual(acknowledged + 1);
    await server.stop('SIGTERM');
  });
});

const STRACE = 'strace';

describe('fenced-kvd while a system call fails', () => {
  const strace = spawnSync(STRACE, ['-o', '/dev/null', 'true']).status === 0;

  it.for([
    ['EIO', 'pwrite64,pwritev,fdatasync'],
    // The lock of the directory can't be given back either.
    ['EIO', 'pwrite64,pwritev,fdatasync,unlink'],
    ['ENOSPC', 'pwrite64,pwritev'],
    ['EIO', 'fdatasync'],
  ] as const)(
    '(%s at %s) answers that the write may have happened, exits with 68, and keeps its fence',
    async ([errno, calls], context) => {
      context.skip(!strace, 'strace is not installed');
      const first = await serve(data);
      const bucket = await new FencedKv(first.url).bucket('b').fencedBy({ token: 57 });
      for (let index = 0; index < 10; index += 1) await bucket.put(`k${index}`, `${index}`);
      const tracer = spawn(STRACE, ['-f', '-e', `inject=${calls}:error=${errno}`, '-p', `${first.pid}`]);
      await once(tracer.stderr, 'data');
      const failure: unknown = await bucket.put('late', 'value').catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'DISK_ERROR', indeterminate: true });
      const { exitCode, stderr } = await first.ended;
      expect(exitCode).toBe(68);
      expect(stderr).toContain('fenced-kvd: a write could not be made durable');

      const second = await serve(data);
      const again = new FencedKv(second.url).bucket('b');
      await expect(again.fencedBy({ token: 56 })).rejects.toBeInstanceOf(StaleTokenError);
      const { keys } = await again.list({ limit: 100 });
      expect(keys.map(({ key }) => key).filter((key) => key !== 'late')).toEqual(
        Array.from({ length: 10 }, (_, index) => `k${index}`),
      );
      await second.stop('SIGTERM');
    },
  );
});

describe('fenced-kvd reset-fence', () => {
  it('lets lower tokens pass again while no server runs', async () => {
    let server = await serve(data);
    const bucket = await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 57 });
    await bucket.put('42', 'v');
    await server.stop('SIGTERM');
    expect(await run('reset-fence', 'accounts', '--data', data, '--to', '5')).toMatchObject({
      exitCode: 0,
      stdout: 'bucket accounts: highest token 57 -> 5\n',
    });
    expect((await run('reset-fence', 'nobody', '--data', data)).exitCode).toBe(1);
    server = await serve(data);
    await expect(new FencedKv(server.url).bucket('accounts').fencedBy({ token: 4 })).rejects.toBeInstanceOf(
      StaleTokenError,
    );
    const again = await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 6 });
    expect((await again.get('42'))?.value).toEqual(new TextEncoder().encode('v'));
    await server.stop('SIGTERM');
  });
});

describe('a write that was answered', () => {
  const strace = spawnSync(STRACE, ['-o', '/dev/null', 'true']).status === 0;

  it('was synced to the disk before the answer left', async (context) => {
    context.skip(!strace, 'strace is not installed');
    const trace = join(directory, 'trace');
    const wrapper = [STRACE, '-f', '-e', 'trace=fdatasync,pwrite64,write,writev,sendto', '-s', '32', '-o', trace];
    const server = await serve(data, { wrapper });
    const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: 1 });
    for (let index = 0; index < 5; index += 1) await bucket.put('k', `${index}`);
    // The signal goes to strace's child, which is the server.
    const [child = ''] = (await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')).trim().split(' ');
    process.kill(Number(child), 'SIGTERM');
    await server.stop('SIGCONT');
    const events = (await readFile(trace, 'utf8')).split('\n').flatMap((line) => {
      if (/fdatasync\(.*= 0|fdatasync resumed.*= 0/.test(line)) return ['pages synced'];
      // The meta page goes through a descriptor that was opened with O_DSYNC.
      if (/pwrite64\(.*, 128, \d+\) += 128|pwrite64 resumed.*, 128, \d+\) += 128/.test(line))
        return ['meta page synced'];
      return /"HTTP\/1\.1 20[04]/.test(line) ? ['answer'] : [];
    });
    const first = events.indexOf('answer');
    const write = ['pages synced', 'meta page synced', 'answer'];
    expect(events.slice(first - 2, first + 16)).toEqual([...write, ...write, ...write, ...write, ...write, ...write]);
  });
});

/** The status line that a plain socket gets: `fetch` lets nobody set `Host`. */
async function rawStatus(hostname: string, port: number, host: string): Promise<string> {
  const socket = connect(port, hostname);
  socket.write(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer.split('\r\n')[0] ?? '';
}
