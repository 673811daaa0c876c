/** A worker of the demo as its director sees it: commanded by lines, heard by the events that it records, stopped and woken by signals. */

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

import { programEntry } from '../programs.ts';
import { watchPaused } from '../pause-watch.ts';
import type { StoryEvent, StoryFact, WorkerCommand, WorkerInstructions } from './event.ts';

export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #record: (event: StoryEvent) => void;
  readonly #who: string;
  readonly #events: StoryEvent[] = [];
  readonly #exited: Promise<void>;
  #listeners: (() => void)[] = [];
  #ended = false;
  #endPauseWatch: (() => void) | undefined;

  constructor(instructions: WorkerInstructions, record: (event: StoryEvent) => void) {
    this.#who = instructions.who;
    this.#record = record;
    const args = ['--enable-source-maps', programEntry('demo worker'), JSON.stringify(instructions)];
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    this.#child.stdin?.on('error', () => undefined);
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#hear(JSON.parse(line) as StoryEvent));
    }
    this.#exited = new Promise((resolve) => {
      const end = (): void => {
        this.#ended = true;
        this.#wake();
        resolve();
      };
      this.#child.once('close', end);
      this.#child.once('error', end);
    });
  }

  send(command: WorkerCommand): void {
    this.#child.stdin?.write(`${command}\n`);
  }

  /** Resolves when it has recorded such a fact. Rejects when it fails or ends before, or after `timeoutMs`. */
  heard(type: StoryFact['type'], timeoutMs: number): Promise<void> {
    return this.heardWhere(`"${type}"`, timeoutMs, (fact) => fact.type === type);
  }

  /** As {@link heard}, for facts that `matches`; `what` names them in errors. */
  async heardWhere(what: string, timeoutMs: number, matches: (fact: StoryFact) => boolean): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (this.#events.some(({ fact }) => matches(fact))) return;
      const failure = this.#events.find(({ fact }) => fact.type === 'failed')?.fact;
      if (failure?.type === 'failed') throw new Error(`process ${this.#who} failed: ${failure.message}`);
      if (this.#ended) throw new Error(`process ${this.#who} ended before it recorded ${what}`);
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error(`process ${this.#who} did not record ${what} within ${timeoutMs / 1_000} s`);
      await this.#next(leftMs);
    }
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

  /** Lets it close its session; ends it when that takes longer than `timeoutMs`. */
  async finish(timeoutMs: number): Promise<void> {
    this.resume();
    this.send('finish');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), timeoutMs);
    await this.#exited;
    clearTimeout(timer);
  }

  #hear(event: StoryEvent): void {
    this.#events.push(event);
    this.#record(event);
    this.#wake();
  }

  #next(leftMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, leftMs);
      this.#listeners.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #wake(): void {
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}
