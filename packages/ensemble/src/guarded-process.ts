/**
 * A child process that never outlives this one: it runs under the guard, which stops it when the pipe that is its standard input
 * closes. It has a session of its own, so that Ctrl-C at the terminal reaches only the launcher, which then stops it in order.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

import { watchPaused } from './pause-watch.ts';
import { programEntry } from './programs.ts';

export interface GuardedProcessOptions {
  /** The built entry of the program. */
  readonly entry: string;
  readonly args: readonly string[];
  /** Standard output and error are appended to it. */
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
  /** What goes before the command, as `ip netns exec NAME`: it must become the program, by exec. @default nothing */
  readonly inside?: readonly string[];
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class GuardedProcess {
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  #exit: ProcessExit | undefined;
  #pauseWatch: (() => void) | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.exited = new Promise((resolve) => {
      const finish = (code: number | null, signal: NodeJS.Signals | null): void => {
        this.#exit ??= { code, signal };
        this.#endPauseWatch();
        resolve(this.#exit);
      };
      child.once('exit', finish);
      child.once('error', () => finish(null, null));
    });
    // A child that has ended leaves a broken pipe; its exit says what there is to say.
    child.stdin?.on('error', () => undefined);
  }

  static start(options: GuardedProcessOptions): GuardedProcess {
    const log = openSync(options.logFile, 'a', 0o600);
    try {
      const node = [process.execPath, '--enable-source-maps', programEntry('guard')];
      const [command = '', ...args] = [...(options.inside ?? []), ...node, options.entry, ...options.args];
      const child = spawn(command, args, {
        stdio: ['pipe', log, log],
        detached: true,
        ...(options.env === undefined ? {} : { env: options.env }),
      });
      return new GuardedProcess(child);
    } finally {
      closeSync(log);
    }
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get exit(): ProcessExit | undefined {
    return this.#exit;
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** SIGSTOP. It is continued if this process ends, so that it does not stay behind, stopped. */
  pause(): void {
    if (!this.running || this.#child.pid === undefined || this.#pauseWatch !== undefined) return;
    this.#pauseWatch = watchPaused(this.#child.pid);
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
    this.#endPauseWatch();
  }

  /** SIGTERM, without waiting for what comes of it. */
  terminate(): void {
    this.#child.kill('SIGTERM');
  }

  /** SIGTERM, and SIGKILL when that has not ended it within `timeoutMs`. */
  async stop(timeoutMs: number): Promise<ProcessExit> {
    if (this.#exit !== undefined) return this.#exit;
    this.resume();
    this.terminate();
    const timer = setTimeout(() => this.kill(), timeoutMs);
    try {
      return await this.exited;
    } finally {
      clearTimeout(timer);
    }
  }

  #endPauseWatch(): void {
    this.#pauseWatch?.();
    this.#pauseWatch = undefined;
  }
}

/** "exit code 65" or "SIGKILL", for messages. */
export function describeExit(exit: ProcessExit): string {
  if (exit.signal !== null) return exit.signal;
  return exit.code === null ? 'could not be started' : `exit code ${exit.code}`;
}
