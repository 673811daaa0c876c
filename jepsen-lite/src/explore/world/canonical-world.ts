/** Of all orders of the servers, the one whose world comes first stands for all. */

import type { HistoryTable } from '../history.ts';
import { placed, type Permutation } from './permutations.ts';
import type { ServerTable } from '../server/server-table.ts';

export class CanonicalWorld {
  readonly #table: ServerTable;
  readonly #histories: HistoryTable;
  readonly #permutations: readonly Permutation[];
  /** What {@link find} found last. */
  readonly world: number[] = [];
  readonly #candidate: number[] = [];

  constructor(table: ServerTable, histories: HistoryTable, permutations: readonly Permutation[]) {
    this.#table = table;
    this.#histories = histories;
    this.#permutations = permutations;
  }

  /** Leaves the world in {@link world}, and returns the number of the permutation that leads to it. */
  find(servers: readonly number[], history: number, used: number, messages: readonly number[]): number {
    const { world } = this;
    let best = 0;
    world.length = 0;
    world.push(...servers, history, used, ...messages);
    for (let number = 1; number < this.#permutations.length; number += 1) {
      if (!this.#place(servers, number)) continue;
      this.#fill(servers.length, history, used, messages, number);
      if (!this.#precedes()) continue;
      best = number;
      world.length = 0;
      world.push(...this.#candidate);
    }
    return best;
  }

  /** False when the servers alone come later than the best. */
  #place(servers: readonly number[], number: number): boolean {
    const permutation = this.#permutations[number] ?? [];
    const candidate = this.#candidate;
    for (let position = 0; position < servers.length; position += 1) {
      candidate[placed(position, permutation)] = this.#table.renamed(servers[position] ?? 0, number);
    }
    for (let position = 0; position < servers.length; position += 1) {
      const difference = (candidate[position] ?? 0) - (this.world[position] ?? 0);
      if (difference !== 0) return difference < 0;
    }
    return true;
  }

  #fill(servers: number, history: number, used: number, messages: readonly number[], number: number): void {
    const candidate = this.#candidate;
    candidate.length = servers;
    const renamed = messages.map((message) => this.#table.renamedMessage(message, number)).toSorted((a, b) => a - b);
    candidate.push(this.#histories.renamed(history, number), used, ...renamed);
  }

  #precedes(): boolean {
    for (const [place, value] of this.#candidate.entries()) {
      const difference = value - (this.world[place] ?? 0);
      if (difference !== 0) return difference < 0;
    }
    return false;
  }
}
