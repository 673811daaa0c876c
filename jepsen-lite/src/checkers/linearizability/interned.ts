/** States, and sets of operations of unknown outcome, as small numbers: equal ones get the same. */

import type { States } from '../../models/model.ts';

/** About what a map's entry takes beside its text. */
const BYTES_OF_ENTRY = 120;

export class InternedStates<State> {
  readonly #space: States<State>;
  readonly #numbers = new Map<string | number, number>();
  readonly #states: State[] = [];
  #bytes = 0;

  constructor(space: States<State>) {
    this.#space = space;
  }

  get bytes(): number {
    return this.#bytes;
  }

  numberOf(state: State): number {
    const key = this.#space.keyOf(state);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#bytes += BYTES_OF_ENTRY + (typeof key === 'string' ? key.length : 0);
    return remember(this.#numbers, this.#states, key, state);
  }

  get(number: number): State {
    return this.#states[number] as State;
  }
}

/** Of each group the first few are in the set: a text with a character for each group is their counts. */
export class OpenSets {
  readonly #numbers = new Map<string, number>();
  readonly #sets: string[] = [];
  #bytes = 0;

  /** The empty set is number 0. */
  constructor(groups: number) {
    this.#numberOf('\0'.repeat(groups));
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many of the group are in the set. */
  count(set: number, group: number): number {
    return this.#sets[set]?.charCodeAt(group) ?? 0;
  }

  /** With one more of the group. */
  with(set: number, group: number): number {
    const before = this.#sets[set] ?? '';
    const more = String.fromCharCode(before.charCodeAt(group) + 1);
    return this.#numberOf(before.slice(0, group) + more + before.slice(group + 1));
  }

  #numberOf(set: string): number {
    const known = this.#numbers.get(set);
    if (known !== undefined) return known;
    this.#bytes += BYTES_OF_ENTRY + 2 * set.length;
    return remember(this.#numbers, this.#sets, set, set);
  }
}

function remember<K, V>(numbers: Map<K, number>, values: V[], key: K, value: V): number {
  const number = values.length;
  numbers.set(key, number);
  values.push(value);
  return number;
}
