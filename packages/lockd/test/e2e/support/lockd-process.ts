/** Starts the built lockd as a process of its own, and tells what it says and how it ends. */

import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** As the set-up of these tests has made it: it starts in half the time of `dist/main.js`. */
const MAIN = fileURLToPath(new URL('../../../dist/bundle/main.js', import.meta.url));
const START_LIMIT_MS = 20_000;
const ASK_AGAIN_MS = 20;

export class LockdProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  /** `news` whenever it says something, and when it has ended. */
  readonly #events = new EventEmitter();
  readonly #ended: Promise<number | string>;
  #over = false;

  /** `nodeArgs` are for Node itself; `uid`, for root alone, is who runs it; `main` is another build of it; `within` goes before the command. */
  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    nodeArgs: readonly string[] = [],
    uid?: number,
    main: string = MAIN,
    within: readonly string[] = [],
  ) {
    const [command = process.execPath, ...rest] = [...within, process.execPath, ...nodeArgs, main, ...args];
    this.child = spawn(command, rest, {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid === undefined ? {} : { uid }),
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#events.emit('news');
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#events.emit('news');
    });
    this.#ended = once(this.child, 'close').then(([code, signal]) => {
      this.#over = true;
      this.#events.emit('news');
      return (code ?? signal) as number | string;
    });
  }

  /** Its exit code, or the signal that ended it; rejects when it goes on. */
  async ended(): Promise<number | string> {
    await this.#news(() => this.#over, 'ended');
    return this.#ended;
  }

  /** Resolves once it has said that it serves. */
  async serves(): Promise<void> {
    await this.servesOrEnds();
    if (this.#over) throw new Error(`lockd ended with ${await this.#ended}: ${this.stderr}`);
  }

  async servesOrEnds(): Promise<void> {
    await this.#news(() => this.stdout.includes('serves clients at') || this.#over, 'served or ended');
  }

  /** What a server that was started with --join prints for its operator, once it has. */
  async joinSecret(): Promise<string> {
    const printed = (): string | undefined => /--join-secret ([0-9a-f]{32})/.exec(this.stdout)?.[1];
    await this.#news(() => printed() !== undefined || this.#over, 'printed its join secret');
    return printed() ?? '';
  }

  /** Resolves once it has complained of that. */
  async complains(problem: string): Promise<void> {
    await this.#news(() => this.stderr.includes(problem), `complained that ${problem}`);
  }

  async #news(known: () => boolean, what: string): Promise<void> {
    const signal = AbortSignal.timeout(START_LIMIT_MS);
    while (!known()) {
      await once(this.#events, 'news', { signal }).catch((cause: unknown) => {
        const said = `${this.stdout}${this.stderr}`;
        throw new Error(`lockd has not ${what} within ${START_LIMIT_MS} ms; it said: ${said}`, { cause });
      });
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** Waits, with a bound, for what nothing tells of by itself: it is asked again and again, as an operator's script asks a server. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + START_LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${START_LIMIT_MS} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
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
