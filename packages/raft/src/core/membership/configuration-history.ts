/**
 * The configurations of a log by the index from which each counts. The last one is in force, committed or not; when its entry is
 * removed, the one before it is again. Old ones stay for as long as something may ask what was in force at their index.
 */

import type { Configuration } from './configuration.ts';
import { invariant } from '../invariant.ts';
import type { LogIndex } from '../types.ts';

export interface ConfigurationAt {
  readonly index: LogIndex;
  readonly configuration: Configuration;
}

export class ConfigurationHistory {
  /** Never empty, ascending. */
  #all: ConfigurationAt[];

  constructor(initial: ConfigurationAt) {
    this.#all = [initial];
  }

  get latest(): ConfigurationAt {
    return this.#last();
  }

  /** In force at `index`. */
  asOf(index: LogIndex): ConfigurationAt {
    const found = this.#all.findLast((each) => each.index <= index);
    invariant(found !== undefined, 'the-configuration-of-every-kept-index-is-known');
    return found;
  }

  /** The one in force at `index`, and all later ones. */
  since(index: LogIndex): readonly ConfigurationAt[] {
    const from = this.#all.findLastIndex((each) => each.index <= index);
    return this.#all.slice(Math.max(0, from));
  }

  append(at: ConfigurationAt): void {
    invariant(at.index > this.#last().index, 'configurations-are-appended-in-order');
    this.#all.push(at);
  }

  /** True when the one in force was removed. */
  truncateFrom(index: LogIndex): boolean {
    const before = this.#all.length;
    while (this.#all.length > 1 && this.#last().index >= index) this.#all.pop();
    return this.#all.length < before;
  }

  /** Nothing before `index` is asked for any more. */
  forgetBefore(index: LogIndex): void {
    if (this.#all.length > 1 && (this.#all[1]?.index ?? Infinity) <= index) this.#all = [...this.since(index)];
  }

  /** A snapshot replaces everything. */
  reset(at: ConfigurationAt): void {
    this.#all = [at];
  }

  #last(): ConfigurationAt {
    const last = this.#all.at(-1);
    invariant(last !== undefined, 'there-is-a-configuration');
    return last;
  }
}
