/** Which servers' answers a command shows that may be stale: what is said of them beside the answer. */

import type { AnswerSource, ReadOptions } from './ensemble-client.ts';

export class AnswerSources {
  /** For every read of the command. */
  readonly options: ReadOptions = { onAnswer: (source) => this.#add(source) };
  readonly #stale: boolean;
  #oldest: AnswerSource | undefined;

  constructor(stale: boolean) {
    this.#stale = stale;
  }

  /** For a JSON document; nothing unless it may be stale. */
  get reported(): { readonly stale?: AnswerSource } {
    return this.#stale && this.#oldest !== undefined ? { stale: this.#oldest } : {};
  }

  /** For standard error; undefined unless it may be stale. */
  get note(): string | undefined {
    if (!this.#stale || this.#oldest === undefined) return undefined;
    const { server, address, index } = this.#oldest;
    return `this may be out of date: server ${server} (${address}) answered with what it has applied, up to index ${index}`;
  }

  /** A long listing is several answers, perhaps of several servers: the one that reaches least far counts. */
  #add({ server, address, index }: AnswerSource): void {
    if (this.#oldest === undefined || index < this.#oldest.index) this.#oldest = { server, address, index };
  }
}
