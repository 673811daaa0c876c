/**
 * A server as a child process with a log file of its own. It dies with this process: the kernel kills it when its parent
 * goes (`setpriv --pdeathsig`), since a server that stays behind would disturb every later measurement.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

const STOP_TIMEOUT_MS = 10_000;
const LOG_TAIL_BYTES = 2_000;

export interface ServerCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** What goes before the command, and becomes it by exec. @default nothing */
  readonly inside?: readonly string[];
  readonly directory: string;
  readonly logFile: string;
}

export class ServerProcess {
  readonly #command: ServerCommand;
  #child: ChildProcess | undefined;

  constructor(command: ServerCommand) {
    this.#command = command;
  }

  /** 0 while it does not run. */
  get pid(): number {
    return this.running ? (this.#child?.pid ?? 0) : 0;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  launch(): void {
    const { command, args, inside = [], directory, logFile } = this.#command;
    const log = openSync(logFile, 'a');
    this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', ...inside, command, ...args], {
      cwd: directory,
      stdio: ['ignore', log, log],
      // A signal of the terminal goes to this process, which then stops its servers in order.
      detached: true,
    });
    this.#child.once('error', () => undefined);
    closeSync(log);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await once(child, 'exit');
    clearTimeout(timer);
  }

  /** SIGKILL, and does not wait. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  async gone(): Promise<void> {
    if (this.#child !== undefined && this.running) await once(this.#child, 'exit');
  }

  /** Polls until `ready` says so. @throws Error with the end of the log when the process ends, or when it takes too long. */
  async waitUntil(ready: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (!this.running) throw new Error(`${this.#command.name} ended; ${this.#logTail()}`);
      if (await ready()) return;
      if (performance.now() > deadline) {
        throw new Error(`${this.#command.name} was not ready within ${timeoutMs} ms; ${this.#logTail()}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #logTail(): string {
    const text = readFileSync(this.#command.logFile, 'utf8');
    return `the end of ${this.#command.logFile}:\n${text.slice(-LOG_TAIL_BYTES)}`;
  }
}
