import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@holdfast/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LockdProcess, until } from './support/lockd-process.ts';
import { answers, argumentsFor, dataOf, places, status, type Place } from './support/places.ts';
import { previousBuild } from './support/previous-build.ts';

const WORKERS = 4;
const SERVERS = [1, 2, 3];

const previous = previousBuild();

/** Waits for a lock that the others want too, and counts under it. */
class Worker {
  error: unknown;
  cycles = 0;
  readonly #done: Promise<void>;
  #running = true;

  constructor(client: Client, path: string, tokens: number[]) {
    this.#done = this.#work(client, path, tokens).catch((error: unknown) => {
      this.error = error;
    });
  }

  async progress(): Promise<void> {
    const before = this.cycles;
    await until(() => this.error !== undefined || this.cycles > before + 1);
    if (this.error !== undefined) throw this.error;
  }

  stop(): Promise<void> {
    this.#running = false;
    return this.#done;
  }

  async #work(client: Client, path: string, tokens: number[]): Promise<void> {
    const lock = client.lock('shared');
    while (this.#running) {
      await lock.withLock(async (held) => {
        tokens.push(held.token);
        const { data, stat } = await client.nodes.get(path);
        await client.nodes.set(path, String(Number(Buffer.from(data).toString()) + 1), { version: stat.version });
      });
      this.cycles += 1;
    }
  }
}

describe('an ensemble of the version before, under load', () => {
  let directory: string;
  let trio: Place[];
  let clients: Client[];
  const processes = new Map<number, LockdProcess>();

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'lockd-upgrade-'));
    trio = await places(SERVERS.length);
    for (const id of SERVERS) start(id, 'previous');
    for (const id of SERVERS) await ready(id);
    const servers = trio.map(({ client }) => `127.0.0.1:${client}`);
    clients = await Promise.all(Array.from({ length: WORKERS }, () => connect({ servers })));
    await clients[0]?.nodes.create('/count', '0');
  });

  afterAll(async () => {
    await Promise.all(clients?.map((client) => client.close()) ?? []);
    for (const lockd of processes.values()) lockd.kill('SIGKILL');
    await Promise.all([...processes.values()].map((lockd) => lockd.ended()));
    for (const each of [directory, previous.directory]) rmSync(each, { recursive: true, force: true });
  });

  function start(id: number, version: 'previous' | 'present'): LockdProcess {
    const main = version === 'previous' ? [previous.main] : [];
    const lockd = new LockdProcess(argumentsFor(id, trio, directory), {}, [], undefined, ...main);
    processes.set(id, lockd);
    return lockd;
  }

  const port = (id: number): number => trio[id - 1]?.client ?? 0;

  async function ready(id: number): Promise<void> {
    const lockd = processes.get(id);
    await lockd?.serves();
    await until(async () => lockd?.child.exitCode !== null || (await answers(port(id), '/ready')) === 200);
    expect(lockd?.child.exitCode, lockd?.stderr).toBeNull();
  }

  async function replace(id: number, version: 'previous' | 'present'): Promise<void> {
    const old = processes.get(id);
    old?.kill('SIGTERM');
    expect(await old?.ended(), old?.stderr).toBe(0);
    start(id, version);
    await ready(id);
    // It serves, and has what the others have.
    const { appliedIndex } = await status(port(SERVERS.find((other) => other !== id) ?? 0));
    await until(async () => (await status(port(id))).appliedIndex >= appliedIndex);
  }

  it('goes over to this one server by server, back where nothing new is used, and loses nothing', async () => {
    const tokens: number[] = [];
    const workers = clients.map((client) => new Worker(client, '/count', tokens));
    const progress = async (): Promise<void> => {
      await Promise.all(workers.map((worker) => worker.progress()));
    };
    await progress();
    await replace(1, 'present');
    await progress();
    // Taken back: what this version wrote among servers of the version before is theirs, too.
    await replace(1, 'previous');
    await progress();
    for (const id of SERVERS) {
      expect((await status(port(SERVERS.at(-1) ?? 0))).stateVersion ?? 1).toBe(1);
      await replace(id, 'present');
      await progress();
    }
    await until(async () => {
      const versions = await Promise.all(SERVERS.map(async (id) => (await status(port(id))).stateVersion));
      return versions.every((version) => version === 2);
    });
    await progress();
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(workers.map(({ error }) => error)).toEqual(workers.map(() => undefined));
    const counted = await clients[0]?.nodes.get('/count');
    expect(Number(Buffer.from(counted?.data ?? []).toString())).toBe(
      workers.reduce((sum, worker) => sum + worker.cycles, 0),
    );
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  }, 90_000);

  it('does not take a server back once something new is used: it says so, and leaves its data as they are', async () => {
    const present = processes.get(2);
    present?.kill('SIGTERM');
    expect(await present?.ended(), present?.stderr).toBe(0);
    const identity = join(dataOf(2, directory), 'identity.json');
    const before = readFileSync(identity);
    const old = start(2, 'previous');
    expect(await old.ended(), old.stderr).toBe(70);
    expect(old.stderr.trim().split('\n').at(-1)).toMatch(
      /start the version of the program that wrote it|run the version that the other/,
    );
    expect(readFileSync(identity)).toEqual(before);
    start(2, 'present');
    await ready(2);
  }, 60_000);
});
