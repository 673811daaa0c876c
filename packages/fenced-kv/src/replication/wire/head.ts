/** Fields of a JSON object that somebody else has sent, each checked as it is read. */
export class Head {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #error: (problem: string) => Error;

  constructor(value: Readonly<Record<string, unknown>>, error: (problem: string) => Error) {
    this.#value = value;
    this.#error = error;
  }

  /** From 0, exact. */
  integer(name: string): number {
    const value = this.#value[name];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw this.#error(`has a ${name} that is no whole number from 0`);
  }

  flag(name: string): boolean {
    const value = this.#value[name];
    if (typeof value === 'boolean') return value;
    throw this.#error(`has a ${name} that is neither true nor false`);
  }

  text(name: string, maxLength: number): string {
    const value = this.#value[name];
    if (typeof value === 'string' && value.length <= maxLength) return value;
    throw this.#error(`has a ${name} that is no text of at most ${maxLength} characters`);
  }

  optionalText(name: string, maxLength: number): string | undefined {
    return this.#value[name] === undefined ? undefined : this.text(name, maxLength);
  }

  list(name: string, maxLength: number): readonly unknown[] {
    const value = this.#value[name];
    if (Array.isArray(value) && value.length <= maxLength) return value;
    throw this.#error(`has a ${name} that is no list of at most ${maxLength}`);
  }

  head(name: string): Head {
    const value = this.#value[name];
    if (isObject(value)) return new Head(value, this.#error);
    throw this.#error(`has a ${name} that is no object`);
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
