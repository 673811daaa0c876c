/** The harness's end of a usurper: it starts the process on the server's host, hears what it did, and ends it. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { builtLiveFile } from '../processes/built.ts';
import type { UsurperOrder, UsurperReport } from './protocol.ts';

export class UsurperProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** @param inside what goes before its command */
  constructor(inside: readonly string[], order: UsurperOrder, heard: (report: UsurperReport) => void) {
    const program = [process.execPath, fileURLToPath(builtLiveFile('strangers/main.js')), JSON.stringify(order)];
    const [command = process.execPath, ...args] = [...inside, ...program];
    // A session of its own: Ctrl-C is for the harness, which ends it in order.
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    this.#child.stdin?.on('error', () => undefined);
    this.#ended = once(this.#child, 'exit').catch(() => undefined);
    if (this.#child.stdout === null) return;
    createInterface({ input: this.#child.stdout }).on('line', (line) => heard(JSON.parse(line) as UsurperReport));
  }

  /** The port is free when it resolves. */
  async end(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
