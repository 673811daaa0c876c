/**
 * What must be remembered of the past to judge what comes: a world in which somebody led a term, or something was committed, is another
 * one than where that never happened, though every server has forgotten it.
 */

import { Interned } from './world/interned.ts';
import type { Permutation } from './world/permutations.ts';
import { placed } from './world/permutations.ts';
import type { ServerTable } from './server/server-table.ts';

export interface History {
  /** By term: the position of who led it, −1 for nobody. */
  readonly leaders: readonly number[];
  /** From index 1 on: entries by number, and the term of the server that applied each first. */
  readonly committed: readonly number[];
  readonly committedIn: readonly number[];
  /** By ticket: how much was committed when the read was asked; −1 when it was not, or is answered. */
  readonly reads: readonly number[];
}

const NOTHING: History = { leaders: [], committed: [], committedIn: [], reads: [] };

export class HistoryTable {
  readonly #table: ServerTable;
  readonly #permutations: readonly Permutation[];
  readonly #histories = new Interned<History & { readonly renamed: number[] }>();

  constructor(table: ServerTable, permutations: readonly Permutation[]) {
    this.#table = table;
    this.#permutations = permutations;
  }

  get first(): number {
    return this.numberOf(NOTHING);
  }

  get size(): number {
    return this.#histories.size;
  }

  at(number: number): History {
    return this.#histories.at(number);
  }

  numberOf(history: History): number {
    const { leaders, committed, committedIn, reads } = history;
    const text = `${leaders.join()};${committed.join()};${committedIn.join()};${reads.join()}`;
    return this.#histories.numberOf(text, () => ({ leaders, committed, committedIn, reads, renamed: [] }));
  }

  renamed(number: number, permutation: number): number {
    if (permutation === 0) return number;
    const history = this.#histories.at(number);
    const done = history.renamed[permutation];
    if (done !== undefined) return done;
    const order = this.#permutations[permutation] ?? [];
    const renamed = this.numberOf({
      ...history,
      leaders: history.leaders.map((leader) => (leader < 0 ? leader : placed(leader, order))),
      committed: history.committed.map((entry) => this.#table.renamedEntry(entry, permutation)),
    });
    history.renamed[permutation] = renamed;
    return renamed;
  }
}
