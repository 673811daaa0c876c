/**
 * Hunts every mutant with the detectors that are expected to catch it, over a few ranges of seeds, and then the product itself, in
 * the same kind of process, with the very seeds that caught mutants, and as many runs of each as they needed: there nothing may be found.
 */

import { MUTANTS } from './catalogue/index.ts';
import { hunt, type Catch, type Hunt, type HuntOptions } from './hunt.ts';
import { inParallel } from './in-parallel.ts';
import type { DetectorName, Mutant, ShownBy } from './mutant.ts';
import { editsByUrl } from '../patches/product.ts';

export interface RunMutantsOptions extends HuntOptions {
  /** Only these. @default all */
  readonly names?: readonly string[];
  /** Attempts in each range; of properties, where an attempt is many runs, one. @default 500 */
  readonly budgetSeeds?: number;
  /** Where the ranges of seeds begin. @default 1, 100001, 200001 */
  readonly rangeStarts?: readonly number[];
  /** Mutants that are hunted at the same time, each in a process of its own. @default 1 */
  readonly jobs?: number;
  /** Called as soon as a mutant is judged. */
  readonly onResult?: (result: MutantResult) => void;
  /** What may be hunted. @default the catalogue */
  readonly catalogue?: readonly Mutant[];
}

export interface MutantResult {
  readonly mutant: Mutant;
  /** `broken`: it does not fit the product, or the product does not run with it at all. */
  readonly verdict: 'caught' | 'survived' | 'broken';
  readonly findings: readonly Finding[];
}

/** How one of the detectors fared. */
export interface Finding {
  readonly detector: DetectorName;
  /** One for each range; the first that found nothing is the last. */
  readonly hunts: readonly Hunt[];
}

export interface ControlResult {
  readonly detector: DetectorName;
  readonly seeds: number;
  readonly passed: boolean;
  readonly hunt: Hunt;
}

export interface MutantsReport {
  readonly results: readonly MutantResult[];
  readonly controls: readonly ControlResult[];
  /** Every mutant was caught by each of its detectors in every range, and no control found anything. */
  readonly ok: boolean;
}

const DEFAULT_BUDGET = 500;
const DEFAULT_STARTS = [1, 100_001, 200_001];

/** Rejects when a name is not that of a mutant. */
export async function runMutants(options: RunMutantsOptions = {}): Promise<MutantsReport> {
  const mutants = select(options.catalogue ?? MUTANTS, options.names);
  const results = await inParallel(mutants, options.jobs ?? 1, async (mutant) => {
    const result = await judge(mutant, options);
    options.onResult?.(result);
    return result;
  });
  const controls = await inParallel(catchingSeeds(results), options.jobs ?? 1, (control) =>
    judgeControl(control, options),
  );
  const ok = results.every(({ verdict }) => verdict === 'caught') && controls.every(({ passed }) => passed);
  return { results, controls, ok };
}

function select(catalogue: readonly Mutant[], names: readonly string[] | undefined): readonly Mutant[] {
  if (names === undefined) return catalogue;
  return names.map((name) => {
    const mutant = catalogue.find((candidate) => candidate.name === name);
    if (mutant !== undefined) return mutant;
    throw new Error(`there is no mutant "${name}"; there are ${catalogue.map((known) => known.name).join(', ')}`);
  });
}

async function judge(mutant: Mutant, options: RunMutantsOptions): Promise<MutantResult> {
  const findings: Finding[] = [];
  for (const detector of mutant.caughtBy) findings.push({ detector, hunts: await huntWith(detector, mutant, options) });
  const hunts = findings.flatMap((finding) => finding.hunts);
  if (hunts.some(({ broken }) => broken !== undefined)) return { mutant, verdict: 'broken', findings };
  return { mutant, verdict: hunts.every(({ caught }) => caught !== undefined) ? 'caught' : 'survived', findings };
}

async function huntWith(detector: DetectorName, mutant: Mutant, options: RunMutantsOptions): Promise<Hunt[]> {
  const { budgetSeeds = DEFAULT_BUDGET, rangeStarts = DEFAULT_STARTS } = options;
  const edits = editsByUrl(mutant);
  const attempts = detector === 'properties' ? 1 : budgetSeeds;
  const hunts: Hunt[] = [];
  for (const start of rangeStarts) {
    const seeds = Array.from({ length: attempts }, (_, offset) => start + offset);
    const { shownBy } = mutant;
    const found = await hunt({ detector, edits, seeds, ...(shownBy && { shownBy }) }, options);
    hunts.push(found);
    // Other ranges would only cost time.
    if (found.caught === undefined) break;
  }
  return hunts;
}

interface Control {
  readonly detector: DetectorName;
  readonly shownBy: ShownBy | undefined;
  readonly seeds: readonly number[];
  /** Of an attempt that is many: so many as a mutant needed. */
  readonly runs: number | undefined;
}

async function judgeControl({ detector, shownBy, seeds, runs }: Control, options: HuntOptions): Promise<ControlResult> {
  const request = { detector, edits: undefined, seeds, ...(shownBy && { shownBy }), ...(runs && { runs }) };
  const found = await hunt(request, options);
  const passed = found.caught === undefined && found.broken === undefined && found.unexpected.length === 0;
  return { detector, seeds: seeds.length, passed, hunt: found };
}

/** For each way in which mutants were hunted. */
function catchingSeeds(results: readonly MutantResult[]): Control[] {
  const found = new Map<string, { readonly by: Pick<Control, 'detector' | 'shownBy'>; readonly catches: Catch[] }>();
  for (const { mutant, findings } of results) {
    for (const { detector, hunts } of findings) {
      const key = JSON.stringify([detector, mutant.shownBy]);
      const control = found.get(key) ?? { by: { detector, shownBy: mutant.shownBy }, catches: [] };
      for (const { caught } of hunts) if (caught !== undefined) control.catches.push(caught);
      if (control.catches.length > 0) found.set(key, control);
    }
  }
  return [...found.values()].map(({ by, catches }) => ({
    ...by,
    seeds: [...new Set(catches.map(({ seed }) => seed))].toSorted((a, b) => a - b),
    runs: catches.reduce<number | undefined>(
      (most, { run }) => (run === undefined ? most : Math.max(run, most ?? 0)),
      undefined,
    ),
  }));
}
