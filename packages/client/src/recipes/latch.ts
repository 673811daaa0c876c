/** A count that goes down to zero, and those who wait for that. One that nobody has set yet holds back whoever waits. */

import { NotFoundError } from '../errors.ts';
import type { Present } from '../incarnations/incarnation.ts';
import type { CallOptions } from '../session/call.ts';
import { changeCell, readCell } from './cell.ts';
import { checkWhole } from './counter.ts';
import { follow } from './follow.ts';
import { recipePath, unlessGone } from './recipe-tree.ts';
import { checkWaitOptions, withinLimits, type WaitOptions } from './waiting.ts';

/**
 * A count that goes down to zero, and can be waited for. Made by `client.latch`.
 *
 * @example
 * const ready = client.latch('ready');
 * await ready.wait();
 */
export class Latch {
  readonly name: string;
  readonly #present: Present;
  readonly #path: string;

  /** @internal */
  constructor(name: string, present: Present) {
    this.name = name;
    this.#path = recipePath('latches', name);
    this.#present = present;
  }

  /** Sets the count, from 1 on. False, and without effect, while another count is under way. */
  async set(count: number, options: CallOptions = {}): Promise<boolean> {
    checkWhole('count', count, 1);
    let done = false;
    await changeCell(this.#present().nodes, this.#path, options, (present) => {
      done = present === undefined || present === '0';
      return done ? String(count) : undefined;
    });
    return done;
  }

  /** Gives what is left; below zero it does not go. Rejects with NotFoundError where nobody has set the latch. */
  async countDown(options: CallOptions = {}): Promise<number> {
    const text = await changeCell(this.#present().nodes, this.#path, options, (present) => {
      if (present === undefined) throw this.#unset();
      return present === '0' ? undefined : String(Number(present) - 1);
    });
    return Number(text ?? '0');
  }

  /** Undefined where nobody has set the latch. */
  async count(options: CallOptions = {}): Promise<number | undefined> {
    const text = await readCell(this.#present().nodes, this.#path, options);
    return text === undefined ? undefined : Number(text);
  }

  /** Until the count is zero. */
  async wait(options: WaitOptions = {}): Promise<void> {
    checkWaitOptions('wait', options);
    const { clock } = this.#present().session;
    await withinLimits(clock, `latch "${this.name}"`, options, async (signal, seen) => {
      const counts = follow(this.#present, this.#path, (nodes, how) => readCell(nodes, this.#path, how), signal);
      for await (const count of counts) {
        if (count === '0') return;
        seen(count === undefined ? 'nobody has set it' : `its count is ${count}`);
      }
    });
  }

  /** Who waits goes on waiting, until it is set and counted down again. */
  async delete(options: CallOptions = {}): Promise<void> {
    await unlessGone(this.#present().nodes.delete(this.#path, options));
  }

  #unset(): NotFoundError {
    return new NotFoundError(`latch "${this.name}" has no count; set it first`, { code: 'NOT_FOUND' });
  }
}
