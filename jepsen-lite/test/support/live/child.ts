/** A program of a test as a process of its own, line by line. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { until } from './until.ts';

export class Child {
  readonly process: ChildProcess;
  /** What it has said so far. */
  readonly lines: string[] = [];
  stderr = '';
  readonly ended: Promise<number | NodeJS.Signals>;
  #over = false;

  /** Runs Node on these arguments. */
  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.process = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (this.process.stdout !== null) {
      createInterface({ input: this.process.stdout }).on('line', (line) => this.lines.push(line));
    }
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = once(this.process, 'close').then(([code, signal]) => {
      this.#over = true;
      return (code ?? signal) as number | NodeJS.Signals;
    });
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Resolves once it has said such a line. */
  async says(pattern: RegExp, from = 0): Promise<string> {
    const said = (): string | undefined => this.lines.slice(from).find((line) => pattern.test(line));
    await until(() => said() !== undefined || this.#over, `${pattern}; it said ${this.stderr}`);
    const line = said();
    if (line === undefined) throw new Error(`it ended without ${pattern}: ${this.stderr}`);
    return line;
  }

  /** Resolves once it has said so many lines more. */
  async saysMore(count: number): Promise<void> {
    const target = this.lines.length + count;
    await until(() => this.lines.length >= target, `${count} lines more; it said ${this.stderr}`);
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}
