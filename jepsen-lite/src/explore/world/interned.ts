/** Numbers for things that have a text: the same text, the same number, counted from 0. */
export class Interned<T> {
  readonly #numbers = new Map<string, number>();
  readonly #values: T[] = [];

  get size(): number {
    return this.#values.length;
  }

  /** `make` is called for a text that was not known. */
  numberOf(text: string, make: () => T): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#values.length;
    this.#numbers.set(text, number);
    this.#values.push(make());
    return number;
  }

  at(number: number): T {
    const value = this.#values[number];
    if (value === undefined) throw new RangeError(`nothing has the number ${number}`);
    return value;
  }
}
