/** A load generator as a child process: orders go in, one JSON line comes back for each. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { WindowResult } from '../generator/closed-loop.ts';
import type { GeneratorOrder } from '../generator/order.ts';
import type { SystemName } from '../generator/systems.ts';
import { ZOOKEEPER_CLASS_PATH } from './zookeeper.ts';

/** `raw`: our generator over the bare protocol; `native`: the system's own client; `client`: its best client on npm. */
export type Route = 'raw' | 'native' | 'client';

export interface GeneratorOptions {
  readonly system: SystemName;
  readonly route: Route;
  readonly work: string;
  readonly sessions: number;
  readonly outstanding?: number;
  readonly servers: readonly string[];
  /** Of every lock and node, so that generators do not meet. */
  readonly prefix: string;
  /** @default 30,000 */
  readonly sessionTimeoutMs?: number;
}

const STOP_TIMEOUT_MS = 15_000;
/** Beyond what an order says itself: servers that answer no more must not hold up a run for ever. */
const WINDOW_GRACE_MS = 60_000;
/** For what takes as long as it takes, such as a million nodes. */
const ORDER_TIMEOUT_MS = 15 * 60_000;
const nativeSources = fileURLToPath(new URL('../../native/', import.meta.url));

export class GeneratorProcess {
  readonly #child: ChildProcess;
  readonly #name: string;
  #waiting: { resolve(answer: object): void; reject(error: Error): void } | undefined;
  #failure: Error | undefined;
  #errors = '';

  private constructor(child: ChildProcess, name: string) {
    this.#child = child;
    this.#name = name;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000);
    });
    child.stdin?.on('error', () => undefined);
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const waiting = this.#waiting;
        this.#waiting = undefined;
        waiting?.resolve(JSON.parse(line) as object);
      });
    }
    child.once('error', (error) => this.#fail(error));
    child.once('close', () => this.#fail(new Error(`the generator ${name} ended: ${this.#errors.trim()}`)));
  }

  /** Resolves when its sessions are open. */
  static async start(options: GeneratorOptions): Promise<GeneratorProcess> {
    const [command = '', ...args] = commandOf(options);
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args, ...argumentsOf(options)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const generator = new GeneratorProcess(child, `${options.system} (${options.route}, ${options.work})`);
    await generator.#answer(WINDOW_GRACE_MS);
    return generator;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async window(rampMs: number, windowMs: number): Promise<WindowResult> {
    return await this.order({ type: 'window', rampMs, windowMs }, rampMs + windowMs + WINDOW_GRACE_MS);
  }

  /** One that is not answered in time is the generator's last. */
  async order<T extends object>(order: GeneratorOrder, timeoutMs = ORDER_TIMEOUT_MS): Promise<T> {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    return (await this.#answer(timeoutMs)) as T;
  }

  /** Lets it close its sessions. */
  async stop(): Promise<void> {
    if (this.#failure !== undefined) return;
    const closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await closed;
    clearTimeout(timer);
  }

  async #answer(timeoutMs: number): Promise<object> {
    const timer = setTimeout(() => {
      this.#fail(new Error(`the generator ${this.#name} gave no answer for ${timeoutMs / 1_000} s`));
      this.#child.kill('SIGKILL');
    }, timeoutMs);
    try {
      return await new Promise((resolve, reject) => {
        if (this.#failure === undefined) this.#waiting = { resolve, reject };
        else reject(this.#failure);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

function argumentsOf(options: GeneratorOptions): string[] {
  const { system, route, work, sessions, outstanding, servers, prefix, sessionTimeoutMs } = options;
  const timeout = sessionTimeoutMs === undefined ? {} : { 'session-timeout-ms': sessionTimeoutMs };
  const values = {
    work,
    sessions,
    outstanding: outstanding ?? sessions,
    servers: servers.join(','),
    prefix,
    ...timeout,
  };
  const common = Object.entries(values).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  return route === 'native' ? common : ['--system', system, '--route', route, ...common];
}

function commandOf({ system, route, work }: GeneratorOptions): string[] {
  if (route !== 'native') return [process.execPath, fileURLToPath(new URL('../generator/main.js', import.meta.url))];
  const built = join(nativeSources, 'built');
  if (system === 'zookeeper') {
    const program = work === 'outages' ? 'OutageClients' : 'NativeLoad';
    const source = join(nativeSources, 'zookeeper', `${program}.java`);
    build(source, join(built, `${program}.class`), ['javac', '-cp', ZOOKEEPER_CLASS_PATH, '-d', built, source]);
    const quiet = `-Dlog4j.configuration=file:${join(nativeSources, 'zookeeper', 'log4j.properties')}`;
    // With SASL, which nothing here uses, each dial asks the DNS for the name of the server's address, and waits while it is slow.
    return ['java', quiet, '-Dzookeeper.sasl.client=false', '-cp', `${built}:${ZOOKEEPER_CLASS_PATH}`, program];
  }
  if (system === 'etcd') {
    const name = work === 'outages' ? 'outage-clients' : 'native-load';
    const source = join(nativeSources, 'etcd', `${name}.go`);
    const program = join(built, `etcd-${name}`);
    build(source, program, ['go', 'build', '-o', program, source], { GOPATH: '/usr/share/gocode', GO111MODULE: 'off' });
    return [program];
  }
  throw new Error(`${system} has no native generator`);
}

export function hasNativeGenerator(system: SystemName): boolean {
  return system === 'zookeeper' || system === 'etcd';
}

function build(source: string, target: string, command: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  if (existsSync(target) && statSync(target).mtimeMs >= statSync(source).mtimeMs) return;
  mkdirSync(join(nativeSources, 'built'), { recursive: true });
  const [program = '', ...args] = command;
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`${command.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
}
