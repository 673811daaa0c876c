/** The harness's end of a proxy: it starts the process, tells it what to do, and knows what it has seen strike. */

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Effect } from '../../../../nemeses/target.ts';
import { builtLiveFile } from '../../processes/built.ts';
import { inTime } from '../../processes/in-time.ts';
import type { ProxyCommand, ProxyReport } from './protocol.ts';

const START_LIMIT_MS = 20_000;
const OBEY_LIMIT_MS = 5_000;

type Child = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };

export class ProxyProcess {
  readonly #child: Child;
  readonly #waiting = new Map<number, () => void>();
  #struck: ReadonlyMap<Effect, number> = new Map();
  #lastId = 0;
  readonly port: Promise<number>;

  /** `inside`: what goes before its command. */
  constructor(inside: readonly string[]) {
    const program = [process.execPath, fileURLToPath(builtLiveFile('network/proxy/main.js'))];
    const [command = process.execPath, ...args] = [...inside, ...program];
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true }) as Child;
    this.#child.stdin.on('error', () => undefined);
    const lines = createInterface({ input: this.#child.stdout });
    const listens = new Promise<number>((resolve) => {
      lines.on('line', (line) => {
        const report = JSON.parse(line) as ProxyReport;
        if ('port' in report) resolve(report.port);
        else this.#hear(report);
      });
    });
    this.port = demand(listens, START_LIMIT_MS, 'a proxy did not start');
  }

  get struck(): ReadonlyMap<Effect, number> {
    return this.#struck;
  }

  /** Resolves when it is done. */
  async obey(command: ProxyCommand): Promise<void> {
    this.#lastId += 1;
    const id = this.#lastId;
    const done = new Promise<true>((resolve) => this.#waiting.set(id, () => resolve(true)));
    this.#child.stdin.write(`${JSON.stringify({ id, command })}\n`);
    await demand(done, OBEY_LIMIT_MS, `a proxy did not answer to ${command.act}`);
  }

  close(): void {
    this.#child.stdin.end();
    this.#child.kill('SIGKILL');
  }

  #hear({ struck, done }: Extract<ProxyReport, { readonly struck: unknown }>): void {
    this.#struck = new Map(struck);
    if (done === undefined) return;
    this.#waiting.get(done)?.();
    this.#waiting.delete(done);
  }
}

async function demand<T>(promise: Promise<T>, ms: number, problem: string): Promise<T> {
  const come = await inTime(promise, ms);
  if (come === undefined) throw new Error(`${problem} within ${ms} ms`);
  return come;
}
