import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@holdfast/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, places, status, type Place } from './support/places.ts';

let directory: string;
let trio: Place[];
let servers: LockdProcess[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockd-http-'));
  trio = await places(3);
  servers = [];
});

afterEach(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await Promise.all(servers.map((server) => server.ended()));
  rmSync(directory, { recursive: true, force: true });
});

async function start(): Promise<void> {
  servers = trio.map((_, n) => new LockdProcess(argumentsFor(n + 1, trio, directory)));
  for (const server of servers) await server.serves();
}

/** One connection of plain HTTP that asks without waiting for answers. */
class Pipeline {
  readonly #socket: Socket;
  answered = 0;

  constructor(port: number, path: string, requests: number) {
    this.#socket = connectSocket({ host: '127.0.0.1', port });
    this.#socket.setEncoding('latin1');
    // The first lines of two answers are never in one chunk without a body between them.
    this.#socket.on('data', (text: string) => (this.answered += text.split('HTTP/1.1 200').length - 1));
    this.#socket.on('error', () => undefined);
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(requests));
  }

  end(): void {
    this.#socket.destroy();
  }
}

describe('a leader that is flooded with plain HTTP', () => {
  const REQUESTS = 2_000;

  it.each([1, 32])('by %i connections leads on, tells of its health and serves clients', async (connections) => {
    await start();
    const ports = trio.map(({ client }) => client);
    await until(async () => (await status(ports[0] ?? 0)).leader !== 0);
    const before = await status(ports[0] ?? 0);
    const leader = ports[before.leader - 1] ?? 0;
    const client = await connect({ servers: ports.map((port) => `127.0.0.1:${port}`), sessionTimeoutMs: 30_000 });
    const flood = Array.from({ length: connections }, () => new Pipeline(leader, '/metrics', REQUESTS));
    const answered = (): number => flood.reduce((sum, each) => sum + each.answered, 0);
    try {
      await until(() => answered() > 0);
      for (let cycle = 0; cycle < 20; cycle += 1) {
        await client.lock('served').withLock(async () => undefined);
        expect(await answers(leader, '/live')).toBe(200);
        expect(await answers(leader, '/health')).toBe(200);
      }
      // It was a flood all the while.
      if (connections > 1) expect(answered()).toBeLessThan((REQUESTS * connections) / 2);
      else await until(() => answered() === REQUESTS);
    } finally {
      for (const each of flood) each.end();
      await client.close();
    }
    expect(await status(leader)).toMatchObject({ role: 'leader', term: before.term });
  });
});

describe('servers that were killed', () => {
  it('are started again, tell their metrics, and live on', async () => {
    await start();
    for (const server of servers) server.kill('SIGKILL');
    await Promise.all(servers.map((server) => server.ended()));
    await start();
    for (const { client } of trio) expect(await answers(client, '/metrics')).toBe(200);
    await until(async () => (await status(trio[0]?.client ?? 0)).leader !== 0);
    for (const { client } of trio) expect(await answers(client, '/health')).toBe(200);
    for (const server of servers) expect(server.child.exitCode, server.stderr).toBeNull();
  });
});
