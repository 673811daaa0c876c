/** A group of replicas of the fenced store as processes, on ports and data of their own, with a real ensemble. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { bundledEntry } from '@holdfast/ensemble';

export const IDS = ['r1', 'r2', 'r3'] as const;
export type Id = (typeof IDS)[number];

/** The group of docs/replicated-store.md. */
export const PAGE_GROUP = 'orders';

/** Between two looks at what is waited for: each is a request to some of those that are to get on. */
const LOOK_MS = 50;

/** One ensemble has the groups of many tests. */
let groups = 0;

/** What `GET /health` of a replica says. */
interface Health {
  readonly serving: boolean;
  readonly epoch: number;
  readonly inSync: readonly string[];
}

export interface Outcome {
  readonly exitCode: number | null;
  readonly output: string;
}

interface Member {
  url: string;
  readonly peer: string;
  child: ChildProcess | undefined;
  output: string;
}

export class ScratchReplicas {
  readonly directory: string;
  readonly group: string;
  readonly #servers: readonly string[];
  readonly #members: ReadonlyMap<Id, Member>;
  readonly #commands = new Set<ChildProcess>();

  private constructor(
    { directory, group }: { readonly directory: string; readonly group: string },
    servers: readonly string[],
    members: ReadonlyMap<Id, Member>,
  ) {
    this.directory = directory;
    this.group = group;
    this.#servers = servers;
    this.#members = members;
  }

  /**
   * None is running yet.
   *
   * @param servers of the ensemble
   * @param group @default one that nobody had before
   */
  static async make(servers: readonly string[], group?: string): Promise<ScratchReplicas> {
    groups += 1;
    const directory = await mkdtemp(join(tmpdir(), 'replicas-'));
    await writeFile(join(directory, 'secret'), 'a secret of the group\n');
    const ports = await freePorts(2 * IDS.length);
    const members = IDS.map((id, at): [Id, Member] => {
      const [http, peer] = ports.slice(2 * at, 2 * at + 2);
      return [id, { url: `http://127.0.0.1:${http}`, peer: `127.0.0.1:${peer}`, child: undefined, output: '' }];
    });
    return new ScratchReplicas({ directory, group: group ?? `group-${groups}` }, servers, new Map(members));
  }

  get urls(): string[] {
    return IDS.map((id) => this.url(id));
  }

  url(id: Id): string {
    return this.#member(id).url;
  }

  data(id: Id): string {
    return join(this.directory, id);
  }

  peer(id: Id): string {
    return this.#member(id).peer;
  }

  /** `changes`: settings that are not those of all. */
  begin(id: Id, changes: Readonly<Record<string, string>> = {}): void {
    const member = this.#member(id);
    const replicas = IDS.map((each) => `${each}=${this.#member(each).peer}`).join(',');
    const settings = {
      '--data': this.data(id),
      '--listen': member.url.replace('http://', ''),
      '--ensemble': this.#servers.join(','),
      '--replica-of': this.group,
      '--replica-id': id,
      '--replicas': replicas,
      '--secret-file': join(this.directory, 'secret'),
      '--initial-in-sync': IDS.join(','),
      '--session-timeout-ms': '1000',
      '--removal-ms': '300',
      ...changes,
    };
    member.output = '';
    const args = Object.entries(settings).flatMap(([flag, value]) => (value === '' ? [flag] : [flag, value]));
    member.child = run(args, (text) => (member.output += text));
  }

  /** From its next start on it has another address for clients. */
  async move(id: Id): Promise<void> {
    const [port] = await freePorts(1);
    this.#member(id).url = `http://127.0.0.1:${port}`;
  }

  /** Sends the signal, and waits for the end. */
  async end(id: Id, signal: NodeJS.Signals): Promise<Outcome> {
    const { child } = this.#member(id);
    child?.kill(signal);
    return await this.ended(id);
  }

  signal(id: Id, signal: NodeJS.Signals): void {
    this.#member(id).child?.kill(signal);
  }

  /** Resolves when it ends by itself. */
  async ended(id: Id): Promise<Outcome> {
    const member = this.#member(id);
    const { child } = member;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return { exitCode: child?.exitCode ?? null, output: member.output };
  }

  async health(id: Id): Promise<Health | undefined> {
    try {
      const answer = await fetch(`${this.url(id)}/health`, { signal: AbortSignal.timeout(500) });
      return (await answer.json()) as Health;
    } catch {
      return undefined;
    }
  }

  /** Waits for one that serves, other than that. */
  async primary(except?: Id): Promise<Id> {
    for (;;) {
      for (const id of IDS) {
        if (id !== except && (await this.health(id))?.serving === true) return id;
      }
      await sleep(LOOK_MS);
    }
  }

  /** Waits until it answers, whether it serves or not. */
  async answers(id: Id): Promise<Health> {
    for (;;) {
      const health = await this.health(id);
      if (health !== undefined) return health;
      await sleep(LOOK_MS);
    }
  }

  /** Waits until the primary has all of them in sync. */
  async allInSync(): Promise<void> {
    for (;;) {
      for (const id of IDS) {
        const health = await this.health(id);
        if (health?.serving === true && health.inSync.length === IDS.length) return;
      }
      await sleep(LOOK_MS);
    }
  }

  /** Runs another command line of fenced-kvd to its end. */
  async command(...args: readonly string[]): Promise<Outcome> {
    let output = '';
    const child = run(args, (text) => (output += text));
    this.#commands.add(child);
    await once(child, 'close');
    this.#commands.delete(child);
    return { exitCode: child.exitCode, output };
  }

  /** Of a replica that runs. It may have to hear first that it is in sync. */
  async backup(id: Id, file: string): Promise<Outcome> {
    for (;;) {
      const outcome = await this.command('backup', '--data', this.data(id), '--to', file);
      if (!outcome.output.includes('not known to be in sync')) return outcome;
      await sleep(LOOK_MS);
    }
  }

  /** Runs a store by itself until {@link endCommands}; resolves with where it serves. */
  async single(data: string): Promise<{ readonly url: string; readonly ended: Promise<unknown> }> {
    let output = '';
    const child = run(['--listen', '127.0.0.1:0', '--data', data], (text) => (output += text));
    this.#commands.add(child);
    const ended = once(child, 'close').then(() => this.#commands.delete(child));
    for (;;) {
      const url = /^fenced-kvd serves (\S+)$/m.exec(output)?.[1];
      if (url !== undefined) return { url, ended };
      if (child.exitCode !== null) throw new Error(`fenced-kvd did not serve: ${output}`);
      await sleep(LOOK_MS);
    }
  }

  /** Sends the signal to those that run; says how many. */
  endCommands(signal: NodeJS.Signals): number {
    for (const child of this.#commands) child.kill(signal);
    return this.#commands.size;
  }

  async stop(): Promise<void> {
    this.endCommands('SIGKILL');
    for (const id of IDS) {
      this.signal(id, 'SIGCONT');
      await this.end(id, 'SIGKILL');
    }
    await rm(this.directory, { recursive: true, force: true });
  }

  #member(id: Id): Member {
    const member = this.#members.get(id);
    if (member === undefined) throw new Error(`there is no replica ${id}`);
    return member;
  }
}

function run(args: readonly string[], heard: (text: string) => void): ChildProcess {
  const child = spawn(process.execPath, [bundledEntry('fenced-kvd'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (chunk: Buffer) => heard(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => heard(chunk.toString()));
  return child;
}

/** Nothing keeps them free afterwards. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  return await Promise.all(
    servers.map(async (server) => {
      if (!server.listening) await once(server, 'listening');
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('a server listens on a port');
      server.close();
      await once(server, 'close');
      return address.port;
    }),
  );
}
