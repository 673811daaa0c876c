import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

import { LockdProcess, until } from './support/lockd-process.ts';
import { Namespaces } from './support/namespaces.ts';

const WATCH = fileURLToPath(new URL('support/partition-watch.mjs', import.meta.url));
const SERVERS = [1, 2, 3];
/** TCP then tries again 12.6 s after the cut. */
const CUT_MS = 7_000;
/** A second is promised; machines on which tests run are busy. TCP alone would take over five. */
const SOON_MS = 2_500;
const ELECTION_MS = 2_500;

interface News {
  readonly atMs: number;
  readonly written?: number;
  readonly server?: number;
  readonly connected?: boolean;
  readonly ready?: boolean;
}

/** Three servers on hosts of their own, and a client that no partition concerns. */
class Scene {
  readonly hosts = new Namespaces(SERVERS.length);
  readonly #directory = mkdtempSync(join(tmpdir(), 'holdfast-partitions-'));
  readonly #servers: LockdProcess[] = [];
  readonly #watch: ChildProcess;
  readonly #news: News[] = [];

  constructor() {
    const cluster = SERVERS.map((id) => `${id}=${this.hosts.address(id)}:7200`).join(',');
    for (const id of SERVERS) {
      const address = this.hosts.address(id);
      const listen = ['--client', `${address}:7100`, '--peer', `${address}:7200`, '--insecure'];
      const data = ['--data', join(this.#directory, `${id}`)];
      const args = ['--id', `${id}`, '--cluster-id', 'e2e', '--cluster', cluster, ...listen, ...data];
      this.#servers.push(new LockdProcess(args, {}, [], undefined, undefined, this.hosts.inside(id)));
    }
    const addresses = SERVERS.map((id) => `${this.hosts.address(id)}:7100`);
    const [ip = '', ...inside] = this.hosts.inside(0);
    this.#watch = spawn(ip, [...inside, process.execPath, WATCH, ...addresses], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (this.#watch.stdout === null) throw new Error('it has no output');
    createInterface(this.#watch.stdout).on('line', (line) => this.#news.push(JSON.parse(line) as News));
  }

  async started(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.serves()));
    await until(() => this.#has((news) => news.written !== undefined));
    await this.connectedSince(0);
  }

  /** When each server was connected to each other, for the first time after that; and as it says itself. */
  async connectedSince(fromMs: number): Promise<number> {
    const first = (id: number): News | undefined =>
      this.#news.find(({ atMs, server, connected }) => atMs > fromMs && server === id && connected === true);
    await until(() => SERVERS.every((id) => first(id) !== undefined));
    return Math.max(...SERVERS.map((id) => first(id)?.atMs ?? 0));
  }

  /** When that server was ready, for the first time after that. */
  async readySince(id: number, fromMs: number): Promise<number> {
    const first = (): News | undefined =>
      this.#news.find(({ atMs, server, ready }) => atMs > fromMs && server === id && ready === true);
    await until(() => first() !== undefined);
    return first()?.atMs ?? 0;
  }

  /** When the first write after that was answered. */
  async writtenSince(fromMs: number): Promise<number> {
    const first = (): News | undefined =>
      this.#news.find(({ atMs, written }) => atMs > fromMs && written !== undefined);
    await until(() => first() !== undefined);
    return first()?.atMs ?? 0;
  }

  /** What the servers said last of whether they are connected to all others. */
  get connected(): (boolean | undefined)[] {
    return SERVERS.map((id) => this.#news.findLast(({ server }) => server === id)?.connected);
  }

  #has(kind: (news: News) => boolean): boolean {
    return this.#news.some(kind);
  }

  close(): void {
    this.#watch.kill('SIGKILL');
    for (const server of this.#servers) server.kill('SIGKILL');
    this.hosts.remove();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

const within = (limitMs: number): unknown => expect.toSatisfy((ms: number) => ms < limitMs, `less than ${limitMs} ms`);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('servers between which everything is dropped for a while', () => {
  let scene: Scene | undefined;
  afterEach(() => scene?.close());

  it('are connected, and answer writes, as soon as that is over', async (context) => {
    const reason = Namespaces.missing();
    if (reason !== undefined) return context.skip(reason);
    scene = new Scene();
    await scene.started();

    scene.hosts.isolate(1);
    await pause(CUT_MS);
    expect(scene.connected).toEqual([false, false, false]);
    scene.hosts.heal();
    const oneMs = Date.now();
    const one = await scene.connectedSince(oneMs);
    const ready = await scene.readySince(1, oneMs);

    for (const id of SERVERS) scene.hosts.isolate(id);
    await pause(CUT_MS);
    expect(scene.connected).toEqual([false, false, false]);
    scene.hosts.heal();
    const allMs = Date.now();
    const all = await scene.connectedSince(allMs);
    const written = await scene.writtenSince(allMs);
    // An election comes on top of some.
    expect({ one: one - oneMs, ready: ready - oneMs, all: all - allMs, written: written - allMs }).toEqual({
      one: within(SOON_MS),
      ready: within(SOON_MS + ELECTION_MS),
      all: within(SOON_MS),
      written: within(SOON_MS + ELECTION_MS),
    });
  });
});
