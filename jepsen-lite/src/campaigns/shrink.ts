/**
 * Makes what fails smaller while it still fails: whoever calls it says what is smaller, and tries it. It promises the same way for the
 * same answers, and, when it was not stopped, that no single candidate of the result fails: with `withoutParts`, no element can go.
 */

export interface Shrunk<S> {
  readonly smallest: S;
  readonly tries: number;
  /** False when it was stopped by `maxTries`. */
  readonly finished: boolean;
}

/** `candidates` come most ambitious first; the first one that still fails is what goes on. */
export async function shrink<S>(
  failing: S,
  candidates: (state: S) => Iterable<S>,
  stillFails: (state: S) => Promise<boolean>,
  options: { readonly maxTries: number },
): Promise<Shrunk<S>> {
  let smallest = failing;
  let tries = 0;
  for (;;) {
    let smaller: S | undefined;
    let found = false;
    for (const candidate of candidates(smallest)) {
      if (tries >= options.maxTries) return { smallest, tries, finished: false };
      tries += 1;
      if (!(await stillFails(candidate))) continue;
      smaller = candidate;
      found = true;
      break;
    }
    if (!found) return { smallest, tries, finished: true };
    smallest = smaller as S;
  }
}

/** The list without all, without each half, each quarter and so on, at last without each single element. */
export function* withoutParts<T>(list: readonly T[]): Iterable<T[]> {
  for (let size = list.length; size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < list.length; start += size) {
      yield [...list.slice(0, start), ...list.slice(start + size)];
    }
  }
}

/** Whole numbers below `value`: the least allowed one first, then half of the way there, a quarter, at last one less. */
export function* smallerNumbers(value: number, least = 0): Iterable<number> {
  for (let less = value - least; less >= 1; less = Math.floor(less / 2)) yield value - less;
}

/** The state with each smaller value of one of its fields. */
export function* withSmaller<S extends object, K extends keyof S>(
  state: S,
  field: K,
  smaller: (value: S[K]) => Iterable<S[K]>,
): Iterable<S> {
  for (const value of smaller(state[field])) yield { ...state, [field]: value };
}
