/** One exploration: of the product, or of it with a planted bug, within named bounds. */

import type { Mutant } from '../mutants/mutant.ts';
import type { Bounds } from './bounds.ts';
import { openCore } from './opened-core.ts';
import { search, type SearchOptions, type SearchResult } from './search.ts';
import { retrace } from './trace.ts';
import { transcriptOf } from './transcript.ts';
import { Worlds } from './worlds.ts';

export interface Exploration extends Omit<SearchResult, 'broken'> {
  readonly bounds: Bounds;
  readonly mutant: Mutant | undefined;
  readonly wallMs: number;
  readonly broken: BrokenPromise | undefined;
}

interface BrokenPromise {
  readonly law: string;
  readonly message: string;
  /** The shortest way there, or one of them. */
  readonly transcript: string;
}

export interface ExploreOptions extends SearchOptions {
  /** @default the product as it is built */
  readonly mutant?: Mutant;
}

export async function explore(bounds: Bounds, { mutant, ...options }: ExploreOptions): Promise<Exploration> {
  const module = await openCore(mutant);
  const startedMs = performance.now();
  const worlds = new Worlds(module, bounds);
  const { broken, ...result } = search(worlds, options);
  const wallMs = performance.now() - startedMs;
  if (broken === undefined) return { ...result, bounds, mutant, wallMs, broken };
  const trace = retrace(worlds, broken.path);
  // Where the servers have their own names.
  const { law, message } = trace.at(-1)?.broken ?? broken;
  return { ...result, bounds, mutant, wallMs, broken: { law, message, transcript: transcriptOf(worlds.table, trace) } };
}
