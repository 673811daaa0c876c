/** A holder that is a child process: told and heard over a channel, stopped and woken by signals. */

import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { watchPaused } from '@holdfast/ensemble';

import { ResourceInputError } from '../adapters/resource.ts';
import type { Abilities, Call, CallOptions, CallResult, Command, Holder, HolderName } from './holder.ts';
import type { Instructions, Reply, Request } from './holder.ts';

const FINISH_TIMEOUT_MS = 5_000;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class HolderProcess implements Holder {
  readonly name: HolderName;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #ended: Error | undefined;
  #endPauseWatch: (() => void) | undefined;

  constructor(instructions: Instructions) {
    this.name = instructions.name;
    const entry = fileURLToPath(new URL('./main.js', import.meta.url));
    this.#child = spawn(process.execPath, ['--enable-source-maps', entry, JSON.stringify(instructions)], {
      // What the user's module prints is not our report.
      stdio: ['ignore', 2, 2, 'ipc'],
      detached: true,
    });
    this.#child.on('message', (message) => this.#hear(message as Reply));
    this.#exited = new Promise((resolve) => {
      const end = (how: string): void => {
        this.#ended ??= new Error(`process ${this.name} ended (${how}); see what it printed`);
        for (const { reject } of this.#waiting.values()) reject(this.#ended);
        this.#waiting.clear();
        resolve();
      };
      this.#child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
      this.#child.once('error', (error) => end(error.message));
    });
  }

  /** Opens the resource. Rejects with ResourceInputError where it is not one. */
  async open(): Promise<Abilities> {
    return (await this.#tell({ do: 'open' })) as Abilities;
  }

  async acquire(): Promise<number> {
    return (await this.#tell({ do: 'acquire' })) as number;
  }

  async release(): Promise<void> {
    await this.#tell({ do: 'release' });
  }

  async call(call: Call, options: CallOptions = {}): Promise<CallResult> {
    return (await this.#tell({ do: 'call', call, options })) as CallResult;
  }

  pause(): void {
    if (this.#child.pid === undefined) return;
    this.#endPauseWatch ??= watchPaused(this.#child.pid);
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
    this.#endPauseWatch?.();
    this.#endPauseWatch = undefined;
  }

  /** Lets it close its session; ends it when that takes too long. */
  async finish(): Promise<void> {
    this.resume();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), FINISH_TIMEOUT_MS);
    // It ends either way.
    await this.#tell({ do: 'finish' }).catch(() => undefined);
    await this.#exited;
    clearTimeout(timer);
  }

  #tell(command: Command): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#lastId += 1;
    const request: Request = { id: this.#lastId, command };
    const answered = new Promise<unknown>((resolve, reject) => this.#waiting.set(request.id, { resolve, reject }));
    // A child that has ended says so by its exit.
    this.#child.send(request, () => undefined);
    return answered;
  }

  #hear(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (waiting === undefined) return;
    if ('result' in reply) waiting.resolve(reply.result);
    else
      waiting.reject(
        reply.input ? new ResourceInputError(reply.error) : new Error(`process ${this.name}: ${reply.error}`),
      );
  }
}
