/** One exploration: of the product, or of it with a planted bug, within named bounds. */

import type { Bounds } from './bounds.ts';
import { openCore, type PlantedBug } from './server/opened-core.ts';
import { search, type SearchOptions, type SearchResult } from './search.ts';
import { retrace, storyOf } from './trace.ts';
import { transcriptOf } from './transcript.ts';
import { deviation } from './vote-ban/conformance.ts';
import { Worlds } from './world/worlds.ts';

export interface Exploration extends Omit<SearchResult, 'broken'> {
  readonly bounds: Bounds;
  readonly mutant: PlantedBug | undefined;
  readonly wallMs: number;
  readonly broken: BrokenPromise | undefined;
}

interface BrokenPromise {
  readonly law: string;
  readonly message: string;
  /** The shortest way there, or one of them; of a server that breaks the rules of the ban on voting, what it did itself. */
  readonly transcript: string;
}

export interface ExploreOptions extends SearchOptions {
  /** @default the product as it is built */
  readonly mutant?: PlantedBug;
}

/** A step that the rules of the ban on voting do not allow, of all that the core took in these worlds. */
function strangeBan({ table }: Worlds): BrokenPromise | undefined {
  const termsOf = (log: number): readonly number[] => table.log(log).map((entry) => table.entry(entry).term);
  for (const taken of table.taken()) {
    const { before, action, step } = taken;
    if (step.broken !== undefined) continue;
    const found = deviation({ before: table.known(before), after: table.known(step.next), action, termsOf });
    if (found === undefined) continue;
    const broken = { law: 'rules-of-the-vote-ban', message: `server ${table.known(before).id}: ${found}` };
    return { ...broken, transcript: transcriptOf(table, storyOf(table, taken, broken)) };
  }
  return undefined;
}

export async function explore(bounds: Bounds, { mutant, ...options }: ExploreOptions): Promise<Exploration> {
  const module = await openCore(mutant);
  const startedMs = performance.now();
  const worlds = new Worlds(module, bounds);
  const { broken, ...result } = search(worlds, options);
  const wallMs = performance.now() - startedMs;
  const strange = broken === undefined ? strangeBan(worlds) : undefined;
  if (strange !== undefined) return { ...result, complete: false, bounds, mutant, wallMs, broken: strange };
  if (broken === undefined) return { ...result, bounds, mutant, wallMs, broken };
  const trace = retrace(worlds, broken.path);
  // Where the servers have their own names.
  const { law, message } = trace.at(-1)?.broken ?? broken;
  return { ...result, bounds, mutant, wallMs, broken: { law, message, transcript: transcriptOf(worlds.table, trace) } };
}
