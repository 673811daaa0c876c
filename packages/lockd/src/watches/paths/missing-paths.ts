/** Paths that are watched and have no node, each under a number, with its first row. */

import { NONE } from '../watch-rows.ts';

export class MissingPaths {
  readonly #numbers = new Map<string, number>();
  #paths: (string | undefined)[] = [];
  #heads: number[] = [];
  /** Numbers that are free again. */
  #free: number[] = [];

  get size(): number {
    return this.#numbers.size;
  }

  numberOf(path: string): number | undefined {
    return this.#numbers.get(path);
  }

  pathOf(number: number): string {
    return this.#paths[number] ?? '';
  }

  add(path: string): number {
    const number = this.#free.pop() ?? this.#paths.length;
    this.#numbers.set(path, number);
    this.#paths[number] = path;
    this.#heads[number] = NONE;
    return number;
  }

  remove(number: number): void {
    this.#numbers.delete(this.pathOf(number));
    if (this.#numbers.size === 0) {
      this.#paths = [];
      this.#heads = [];
      this.#free = [];
      return;
    }
    this.#paths[number] = undefined;
    this.#free.push(number);
  }

  head(number: number): number {
    return this.#heads[number] ?? NONE;
  }

  setHead(number: number, row: number): void {
    this.#heads[number] = row;
  }
}
