/** A program under test as a child process that is asked, line by line. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';

import { builtFile } from '../../patches/product.ts';
import type { Planted } from '../../patches/planted.ts';

/** A program whose files are changed as they are loaded starts slowly on a busy machine. */
const ANSWER_LIMIT_MS = 60_000;
const AGAIN_MS = 10;

export class Program {
  readonly #child: ChildProcess;
  readonly lines: string[] = [];
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  #said = '';
  #over = false;

  /** @param environment beside that of the planted bug */
  constructor(
    planted: Planted,
    [module, file]: readonly [module: string, file: string],
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const program = fileURLToPath(builtFile(module, file));
    this.#child = spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env['PATH'], ...planted.environment, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#said += text));
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.lines.push(line));
    }
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      this.#over = true;
      return (code ?? signal) as number | string;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the next line that it says. Rejects when it ends without, or says nothing for long. */
  async ask(command: readonly (string | number)[]): Promise<string> {
    const at = this.lines.length;
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
    return this.line(() => this.lines[at]);
  }

  async says(text: string): Promise<string> {
    return this.line(() => this.lines.find((line) => line.includes(text)));
  }

  async line(find: () => string | undefined): Promise<string> {
    const end = performance.now() + ANSWER_LIMIT_MS;
    for (;;) {
      const line = find();
      if (line !== undefined) return line;
      if (this.#over) throw new Error(`the program ended: ${this.#said.slice(-500)}`);
      if (performance.now() > end) throw new Error(`the program says nothing: ${this.#said.slice(-500)}`);
      await delay(AGAIN_MS);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }
}
