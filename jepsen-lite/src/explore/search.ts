/** Breadth-first: the first world in which a law is broken is as near to the beginning as any. */

import type { Broken } from './server/server-table.ts';
import { StateTable } from './world/state-table.ts';
import type { Worlds } from './world/worlds.ts';

export interface SearchOptions {
  /** Ends when so many worlds are known. */
  readonly states: number;
}

export interface SearchResult {
  /** Nothing within the bounds was left out. */
  readonly complete: boolean;
  readonly states: number;
  readonly transitions: number;
  /** Actions from the beginning to the world that is farthest away from it. */
  readonly depth: number;
  /** Different servers, and how often the core took a step. */
  readonly servers: number;
  readonly coreSteps: number;
  readonly broken: (Broken & { readonly path: readonly number[] }) | undefined;
}

/** A path is the ordinals of the successors from the first world on. */
export function search(worlds: Worlds, { states }: SearchOptions): SearchResult {
  const table = new StateTable();
  table.add(worlds.first(), -1, -1);
  let transitions = 0;
  let depth = 0;
  let levelEnd = 1;
  let broken: SearchResult['broken'];
  let at = 0;
  for (; at < table.size && table.size < states && broken === undefined; at += 1) {
    if (at === levelEnd) {
      depth += 1;
      levelEnd = table.size;
    }
    let ordinal = 0;
    // A copy, since the table may move while it grows.
    worlds.successors([...table.world(at)], (world, transition) => {
      if (transition.broken !== undefined) broken ??= { ...transition.broken, path: [...pathTo(table, at), ordinal] };
      else table.add(world, at, ordinal);
      ordinal += 1;
    });
    transitions += ordinal;
  }
  return {
    complete: at === table.size && broken === undefined,
    states: table.size,
    transitions,
    depth: broken === undefined ? depth : broken.path.length,
    servers: worlds.table.servers,
    coreSteps: worlds.table.coreSteps,
    broken,
  };
}

function pathTo(table: StateTable, at: number): number[] {
  const path: number[] = [];
  for (let place = at; table.parent(place) >= 0; place = table.parent(place)) path.unshift(table.ordinal(place));
  return path;
}
