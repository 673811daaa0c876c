/** Hunts random mutants: each by what looks for its area, until something notices it. */

import { hunt } from '../hunt.ts';
import { editsByUrl } from '../../patches/product.ts';
import type { Area, Look } from './areas.ts';
import { builtFiles, type RandomMutant } from './draw.ts';
import { nearestTests, runUnitTests } from './unit-tests.ts';

export interface RandomResult {
  readonly mutant: RandomMutant;
  /** Undefined: nothing noticed it. */
  readonly noticed: { readonly by: Look['by']; readonly as: string } | undefined;
  readonly wallMs: number;
}

/** A run of tests that takes longer than the product's by this factor hangs. */
const PATIENCE = 4;
const LEAST_LIMIT_MS = 60_000;
const CONTROL_LIMIT_MS = 600_000;
const FIRST_SEED = 1;

export class RandomJudge {
  readonly #limits = new Map<string, number>();

  /**
   * Runs every area's tests over its built files as they are. Call it first.
   *
   * @throws Error when they fail: then no mutant's failure would say anything
   */
  async control(areas: readonly Area[]): Promise<void> {
    for (const area of areas) {
      const changed = builtFiles(area).map((file) => ({ module: area.module, file, edits: [] }));
      for (const look of area.looks) {
        if (look.by !== 'tests' || this.#limits.has(look.paths.join(' '))) continue;
        const { failed, wallMs } = await runUnitTests(look.paths, changed, CONTROL_LIMIT_MS);
        if (failed !== undefined) throw new Error(`the tests of ${area.name} fail without any mutant: ${failed}`);
        this.#limits.set(look.paths.join(' '), Math.max(LEAST_LIMIT_MS, PATIENCE * wallMs));
      }
    }
  }

  async judge(mutant: RandomMutant): Promise<RandomResult> {
    const startedMs = performance.now();
    for (const look of mutant.area.looks) {
      const as = look.by === 'tests' ? await this.#test(mutant, look.paths) : await simulate(mutant, look);
      if (as !== undefined) return { mutant, noticed: { by: look.by, as }, wallMs: performance.now() - startedMs };
    }
    return { mutant, noticed: undefined, wallMs: performance.now() - startedMs };
  }

  /** Undefined when all pass. */
  async #test({ area, file, patches }: RandomMutant, paths: readonly string[]): Promise<string | undefined> {
    const limitMs = this.#limits.get(paths.join(' ')) ?? CONTROL_LIMIT_MS;
    const changed = patches.map(({ edits }) => ({ module: area.module, file, edits }));
    const nearest = nearestTests(paths, { module: area.module, file });
    const first = nearest.length === 0 ? undefined : (await runUnitTests(nearest, changed, limitMs)).failed;
    return first ?? (await runUnitTests(paths, changed, limitMs)).failed;
  }
}

/** An error that nobody foresees is noticed, too: the server that it strikes stops and says so. */
async function simulate(mutant: RandomMutant, look: Exclude<Look, { by: 'tests' }>): Promise<string | undefined> {
  const seeds = Array.from({ length: look.attempts }, (_, offset) => FIRST_SEED + offset);
  const { caught, broken, unexpected } = await hunt({ detector: look.by, edits: editsByUrl(mutant), seeds });
  if (caught !== undefined) return `${caught.name} (seed ${caught.seed})`;
  const [first] = unexpected;
  if (first !== undefined) return `${first.name}: ${first.message}`;
  return broken;
}
