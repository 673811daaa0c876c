/** The harness's end of a proxy: it starts the process, tells it what to do, and knows what it has seen strike. */

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Effect } from '../../../../nemeses/target.ts';
import { builtLiveFile } from '../../processes/built.ts';
import { withinLimit } from '../../../hang.ts';
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
    this.port = withinLimit('the start of a proxy', START_LIMIT_MS, () => listens);
  }

  get struck(): ReadonlyMap<Effect, number> {
    return this.#struck;
  }

  /** Resolves when it is done. */
  async obey(command: ProxyCommand): Promise<void> {
    this.#lastId += 1;
    const id = this.#lastId;
    const done = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
    this.#child.stdin.write(`${JSON.stringify({ id, command })}\n`);
    await withinLimit(`what a proxy was told, ${command.act},`, OBEY_LIMIT_MS, () => done);
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
