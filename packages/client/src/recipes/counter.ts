/** A whole number that many raise at once without losing an addition. It stays when its clients go, until it is deleted. */

import { InvalidArgumentError, LimitExceededError } from '../errors.ts';
import type { Present } from '../incarnations/incarnation.ts';
import type { CallOptions } from '../session/call.ts';
import { changeCell, readCell } from './cell.ts';
import { recipePath, unlessGone } from './recipe-tree.ts';

/**
 * A whole number that many raise at once without losing an addition. Made by `client.counter`.
 *
 * @example
 * const tickets = client.counter('tickets');
 * console.log(await tickets.add(2));
 */
export class Counter {
  readonly name: string;
  readonly #present: Present;
  readonly #path: string;

  /** @internal */
  constructor(name: string, present: Present) {
    this.name = name;
    this.#path = recipePath('counters', name);
    this.#present = present;
  }

  /** 0 where nobody has counted yet. */
  async get(options: CallOptions = {}): Promise<number> {
    return this.#numberOf(await readCell(this.#present().nodes, this.#path, options));
  }

  /** Adds `delta`, which may be negative, and gives the sum. Rejects with LimitExceededError where that would be inexact. */
  async add(delta: number, options: CallOptions = {}): Promise<number> {
    checkWhole('delta', delta);
    const text = await changeCell(this.#present().nodes, this.#path, options, (present) => {
      const sum = this.#numberOf(present) + delta;
      if (Number.isSafeInteger(sum)) return String(sum);
      throw new LimitExceededError(`counter "${this.name}" would be ${sum}, beyond the whole numbers that are exact`);
    });
    return this.#numberOf(text);
  }

  increment(options: CallOptions = {}): Promise<number> {
    return this.add(1, options);
  }

  decrement(options: CallOptions = {}): Promise<number> {
    return this.add(-1, options);
  }

  /** False, and without effect, when it is not `expected`. */
  async compareAndSet(expected: number, value: number, options: CallOptions = {}): Promise<boolean> {
    checkWhole('expected', expected);
    checkWhole('value', value);
    let equal = false;
    await changeCell(this.#present().nodes, this.#path, options, (present) => {
      equal = this.#numberOf(present) === expected;
      return equal ? String(value) : undefined;
    });
    return equal;
  }

  async set(value: number, options: CallOptions = {}): Promise<void> {
    checkWhole('value', value);
    await changeCell(this.#present().nodes, this.#path, options, () => String(value));
  }

  /** It is 0 then, and leaves nothing. */
  async delete(options: CallOptions = {}): Promise<void> {
    await unlessGone(this.#present().nodes.delete(this.#path, options));
  }

  #numberOf(text: string | undefined): number {
    if (text === undefined) return 0;
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
    throw new InvalidArgumentError(`${this.#path} holds ${JSON.stringify(text)}, which is no count; delete it`);
  }
}

/** @throws InvalidArgumentError */
export function checkWhole(name: string, value: number, least = Number.MIN_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  const from = least === Number.MIN_SAFE_INTEGER ? '' : `, at least ${least}`;
  throw new InvalidArgumentError(`${name} is ${String(value)}; it must be a whole number${from}`);
}
