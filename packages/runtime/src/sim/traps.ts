/**
 * Traps for programs that reach for real time, randomness or I/O inside a simulated world. Armed while events run and at no
 * other time: the rest of the process (a test runner) never meets them. What took a reference of its own before (a destructured
 * `require`) is not caught; the lint rules of the sources are the other half.
 */

import { syncBuiltinESMExports } from 'node:module'; // oxlint-disable-line no-restricted-imports -- so that functions imported by name are trapped too
import { INSTEAD, trapList } from './trap-list.ts';
import type { Reach, Trapped } from './trap-list.ts';

/** A program reached for the real world. The run rejects with it even if the program catches it. */
export class RealWorldError extends Error {
  /** The function, such as `Date.now`. */
  readonly reached: string;

  constructor(reached: string, reach: Reach) {
    super(
      `${reached} was called inside a simulated world: the same seed would not give the same run. Use ${INSTEAD[reach]}`,
    );
    this.name = 'RealWorldError';
    this.reached = reached;
  }
}

/** Node.js itself reads source maps with it when an error's stack is formatted, and does without when it throws. */
const ALSO_CALLED_BY_NODE: ReadonlySet<string> = new Set(['fs.readFileSync']);

interface Trap {
  readonly target: object;
  readonly key: string;
  readonly value: unknown;
  /** A property that Node.js computes when it is first asked for. */
  readonly accessor: boolean;
}

export class Traps {
  static #ofThread: Traps | undefined;
  readonly #date = globalThis.Date;
  readonly #traps: readonly Trap[];
  /** Of each trap, what was in its place when it was last armed. */
  readonly #originals: unknown[] = [];
  #armed = false;
  #first: RealWorldError | undefined;

  /**
   * What they replace belongs to the thread, in which one world runs at a time; making them costs as much as a short run. Made
   * anew when somebody (a test runner) has put another `Date` in place, since theirs is made of that.
   */
  static ofThread(): Traps {
    const made = Traps.#ofThread;
    if (made !== undefined && made.#date === globalThis.Date) return made;
    return (Traps.#ofThread = new Traps());
  }

  private constructor() {
    loadStandardStreams();
    const functions = trapList().map((trapped) => ({ ...trapped, value: this.#trapFor(trapped) }));
    const date = this.#trappedDate();
    const dates = [
      { target: globalThis, key: 'Date', value: date },
      { target: date.prototype, key: 'constructor', value: date },
    ];
    this.#traps = [...functions, ...dates].map(({ target, key, value }) => {
      const accessor = Object.getOwnPropertyDescriptor(target, key)?.get !== undefined;
      return { target, key, value, accessor };
    });
  }

  arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    for (const [n, { target, key, value, accessor }] of this.#traps.entries()) {
      const original = accessor ? Object.getOwnPropertyDescriptor(target, key) : Reflect.get(target, key);
      this.#originals[n] = original;
      if (accessor) Object.defineProperty(target, key, { value, configurable: true });
      else Reflect.set(target, key, value);
    }
    syncBuiltinESMExports();
  }

  disarm(): void {
    if (!this.#armed) return;
    this.#armed = false;
    for (const [n, { target, key, accessor }] of this.#traps.entries()) {
      const original = this.#originals[n];
      if (accessor) Object.defineProperty(target, key, original as PropertyDescriptor);
      else Reflect.set(target, key, original);
    }
    syncBuiltinESMExports();
  }

  /** Throws the first error of a trap, whatever became of it where it was thrown. */
  check(): void {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) throw first;
  }

  #trapFor({ target, key, name, reach }: Trapped): () => never {
    const spring = () => this.#spring(name, reach);
    // Neither an arrow function nor a method: some of these are called with `new`.
    const trap = function (): never {
      return spring();
    };
    // Functions with functions on them: process.hrtime.bigint, fs.realpath.native, setTimeout's promisified form.
    const original: unknown = Reflect.get(target, key);
    if (typeof original !== 'function') return trap;
    for (const each of Reflect.ownKeys(original)) {
      if (typeof Reflect.get(original, each) !== 'function' || Object.hasOwn(trap, each)) continue;
      const fullName = `${name}.${String(each)}`;
      Object.defineProperty(trap, each, { value: () => this.#spring(fullName, reach), configurable: true });
    }
    return trap;
  }

  /** `new Date(time)` and the pure functions of the class work. */
  #trappedDate(): DateConstructor {
    const spring = (name: string) => this.#spring(name, 'time');
    const now = () => spring('Date.now');
    const date: DateConstructor = new Proxy(globalThis.Date, {
      apply: () => spring('Date'),
      construct: (target, args: unknown[], newTarget) =>
        args.length === 0
          ? spring('new Date')
          : (Reflect.construct(target, args, newTarget === date ? target : newTarget) as object),
      get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
    });
    return date;
  }

  #spring(name: string, reach: Reach): never {
    const error = new RealWorldError(name, reach);
    if (!ALSO_CALLED_BY_NODE.has(name)) this.#first ??= error;
    throw error;
  }
}

/** The standard streams are made when they are first asked for; made inside a world they would keep traps for good. */
function loadStandardStreams(): void {
  for (const name of ['stdout', 'stderr']) Reflect.get(process, name); // oxlint-disable-line no-restricted-globals -- as above
}
