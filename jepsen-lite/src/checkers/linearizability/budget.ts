/** How much a search may take before it gives up: configurations, memory, and time of a clock that is given to it. */

export interface Limits {
  readonly configurations: number;
  readonly bytes: number;
  readonly ms: number;
}

export type Exhausted = keyof Limits;

/** Clocks are not free. */
const LOOKS_EVERY = 1_024;

/** For all searches of a check together, but for memory, which each gives back. */
export class Budget {
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  readonly #startMs: number;
  #configurations = 0;

  constructor(limits: Limits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  /** Takes one configuration; says which limit is reached, if one is. */
  spent(bytes: number): Exhausted | undefined {
    this.#configurations += 1;
    if (this.#configurations > this.#limits.configurations) return 'configurations';
    if (bytes > this.#limits.bytes) return 'bytes';
    if (this.#configurations % LOOKS_EVERY !== 0) return undefined;
    return this.#nowMs() - this.#startMs > this.#limits.ms ? 'ms' : undefined;
  }

  /** Which limit of all searches together is reached, if one is. */
  over(): Exhausted | undefined {
    if (this.#configurations >= this.#limits.configurations) return 'configurations';
    return this.#nowMs() - this.#startMs > this.#limits.ms ? 'ms' : undefined;
  }

  get configurations(): number {
    return Math.min(this.#configurations, this.#limits.configurations);
  }

  /** The same, but for at most so many configurations more. */
  atMost(configurations: number): Budget {
    const left = Math.max(0, this.#limits.configurations - this.#configurations);
    const msLeft = this.#limits.ms - (this.#nowMs() - this.#startMs);
    return new Budget({ ...this.#limits, configurations: Math.min(configurations, left), ms: msLeft }, this.#nowMs);
  }

  take(configurations: number): void {
    this.#configurations += configurations;
  }
}
