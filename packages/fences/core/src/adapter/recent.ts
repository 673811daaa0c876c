/** What was used last, of so many. */

export class Recent<Value> {
  readonly #values = new Map<string, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Forgets what was set longest ago, where there are too many. */
  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.#max) return;
      this.#values.delete(oldest);
    }
  }
}
