/** The process that freezes, thaws and shuts down one file system, and thaws it when this process ends. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { GUARD_SCRIPT, SHUTDOWN_FLAGS } from './guard-script.ts';
import { withinLimit } from '../../../hang.ts';
import { run } from '../tools.ts';
import { VolumeError } from '../volume.ts';

/** Once its input has ended. */
const END_LIMIT_MS = 10_000;

export class VolumeGuard {
  readonly #mount: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #waiting: ((answer: string) => void)[] = [];
  #over = false;

  constructor(mount: string) {
    this.#mount = mount;
    // A session of its own: Ctrl-C is for the harness, which ends it in order.
    this.#child = spawn('perl', ['-e', GUARD_SCRIPT, mount], { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
    this.#child.stdin?.on('error', () => undefined);
    this.#ended = once(this.#child, 'close').catch(() => undefined);
    void this.#ended.then(() => this.#giveUp());
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (answer) => this.#waiting.shift()?.(answer));
    }
  }

  async freeze(): Promise<void> {
    await this.#ask('freeze');
  }

  /** No error when it is not frozen. */
  async thaw(): Promise<void> {
    await this.#ask('thaw');
  }

  /**
   * Thaws, too.
   * @param canaries a directory there in which something is changed just before, without a sync
   * @returns whether the kernel refuses a write from now on
   */
  async shutDown(survives: keyof typeof SHUTDOWN_FLAGS, canaries?: string): Promise<boolean> {
    const answer = await this.#ask(['shutdown', SHUTDOWN_FLAGS[survives], canaries].filter(Boolean).join(' '));
    return answer === 'refused';
  }

  /** Thawed before it ends. Where it does not end it is killed, and somebody else thaws. @throws HangError */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    try {
      await withinLimit(`the guard of ${this.#mount}`, END_LIMIT_MS, () => this.#ended);
    } catch (error) {
      this.#child.kill('SIGKILL');
      await run('fsfreeze', ['-u', this.#mount]).catch(() => undefined);
      throw error;
    }
  }

  async #ask(command: string): Promise<string> {
    const answer = await new Promise<string>((resolve) => {
      if (this.#over) {
        resolve('error its guard has ended');
        return;
      }
      this.#waiting.push(resolve);
      this.#child.stdin?.write(`${command}\n`);
    });
    if (!answer.startsWith('error ')) return answer;
    throw new VolumeError(`cannot ${command} ${this.#mount}: ${answer.slice('error '.length)}`);
  }

  #giveUp(): void {
    this.#over = true;
    for (const resolve of this.#waiting.splice(0)) resolve('error its guard has ended');
  }
}
