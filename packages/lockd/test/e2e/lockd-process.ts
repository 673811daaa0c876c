/** Starts the built lockd as a process of its own, and tells what it says and how it ends. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_LIMIT_MS = 20_000;

export class LockdProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #ended: Promise<number | string>;

  /** `nodeArgs` are for Node itself; `uid`, for root alone, is who runs it; `main` is another build of it. */
  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    nodeArgs: readonly string[] = [],
    uid?: number,
    main: string = MAIN,
  ) {
    this.child = spawn(process.execPath, [...nodeArgs, main, ...args], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid === undefined ? {} : { uid }),
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#ended = once(this.child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  }

  /** Its exit code, or the signal that ended it; rejects when it goes on. */
  async ended(): Promise<number | string> {
    await until(() => this.child.exitCode !== null || this.child.signalCode !== null);
    return this.#ended;
  }

  /** Resolves once it has said that it serves. */
  async serves(): Promise<void> {
    await until(() => this.stdout.includes('serves clients at') || this.child.exitCode !== null);
    if (this.child.exitCode !== null) throw new Error(`lockd ended with ${this.child.exitCode}: ${this.stderr}`);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** Waits for a condition, with a bound. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + START_LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${START_LIMIT_MS} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Ports of 127.0.0.1 that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
