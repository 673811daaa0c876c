import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  hasMariaDb,
  hasRedis,
  postgresPrograms,
  prepareMariaDb,
  preparePostgres,
  prepareRedis,
  runServer,
  type PreparedServer,
  type RunningServer,
} from '../../src/index.ts';

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** What Redis answers to one command on a connection of its own; undefined where nobody listens. */
async function ask(port: number, command: string): Promise<string | undefined> {
  return await new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write(`${command}\r\n`));
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      resolve(text.trimEnd());
      socket.destroy();
    });
    socket.on('error', () => resolve(undefined));
  });
}

/** Processes whose command line names the directory. */
function processesOn(directory: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(directory);
    } catch {
      return false;
    }
  });
}

describe('a Redis server that tests start', () => {
  let prepared: PreparedServer;
  let server: RunningServer;

  beforeEach(async (context) => {
    context.skip(!hasRedis() || process.platform !== 'linux', 'Redis is not installed, or this is not Linux');
    prepared = await prepareRedis(DURABLE);
    const { port } = prepared;
    server = await runServer(prepared, { name: 'Redis', serves: async () => (await ask(port, 'PING')) === '+PONG' });
  });

  afterEach(() => server?.stop());

  it('has what it was told after it was stopped and after it was killed', async () => {
    expect(await ask(server.port, 'SET k v')).toBe('+OK');
    await server.restart();
    expect(await ask(server.port, 'GET k')).toBe('$1\r\nv');
    await server.crash();
    expect(await ask(server.port, 'GET k')).toBe('$1\r\nv');
  });

  it("is in nobody else's way, and leaves nothing behind", async () => {
    const other = await prepareRedis();
    expect([other.port === prepared.port, other.user.directory === prepared.user.directory]).toEqual([false, false]);
    other.user.remove();
    const { directory } = prepared.user;
    expect(processesOn(`:${prepared.port}`)).toHaveLength(1);
    await server.stop();
    expect(await ask(server.port, 'PING')).toBeUndefined();
    expect([existsSync(directory), processesOn(`:${prepared.port}`)]).toEqual([false, []]);
  });
});

describe('data that is prepared', () => {
  it.each([
    ['PostgreSQL', 'postgres', postgresPrograms() !== undefined, () => preparePostgres(postgresPrograms() ?? '')],
    ['MariaDB', 'mysql', hasMariaDb(), () => prepareMariaDb()],
  ] as const)(
    'for %s belongs to %s where this process is root, and to nobody else',
    async (name, owner, installed, prepare) => {
      if (!installed) return;
      const { user, args } = await prepare();
      const data = join(user.directory, 'data');
      expect(args.join(' '), name).toContain(data);
      const wanted =
        process.getuid?.() === 0 ? Number(execFileSync('id', ['-u', owner], { encoding: 'utf8' })) : process.getuid?.();
      expect([statSync(user.directory).uid, statSync(data).uid]).toEqual([wanted, wanted]);
      expect(statSync(user.directory).mode & 0o077).toBe(0);
      user.remove();
      expect(existsSync(user.directory)).toBe(false);
    },
  );
});
