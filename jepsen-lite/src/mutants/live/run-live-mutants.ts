/** Hunts every live mutant with the detector that must notice it, and then the product itself with each of these: there nothing may be found. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FakeClock } from '../../targets/live/clocks/fake-clock.ts';
import { Volumes } from '../../targets/live/disks/volumes.ts';
import { unexpectedFailure, type Failure } from '../attempt.ts';
import { editsByUrl, type EditsByUrl } from '../../patches/product.ts';
import { LIVE_MUTANTS } from './catalogue.ts';
import { LIVE_DETECTORS } from './detectors/index.ts';
import type { LiveDetectorName, LiveMutant } from './live-mutant.ts';
import { Planted } from '../../patches/planted.ts';

const MAX_TRIES = 3;

export interface RunLiveMutantsOptions {
  /** Only these. @default all */
  readonly names?: readonly string[];
  /** How often each is hunted. @default 1 */
  readonly attempts?: number;
  readonly onResult?: (result: LiveResult) => void;
}

export interface LiveResult {
  /** Undefined: the product as it is. */
  readonly mutant: LiveMutant | undefined;
  readonly detector: LiveDetectorName;
  /** One for each attempt; undefined where nothing was found wrong. */
  readonly failures: readonly (Failure | undefined)[];
  /** Every attempt at a mutant found a broken promise, or none at the product found anything. */
  readonly passed: boolean;
  readonly wallMs: number;
}

/** Why live mutants can't be hunted here; undefined where they can. */
export async function liveMutantsProblem(): Promise<string | undefined> {
  const volumes = await Volumes.open();
  const [problem] = volumes.lacks.values();
  await volumes.close();
  return problem ?? FakeClock.problem();
}

/** Mutants in the order of the catalogue, then the product under each of their detectors. @throws when a name is not that of a live mutant */
export async function runLiveMutants(options: RunLiveMutantsOptions = {}): Promise<readonly LiveResult[]> {
  const { names, attempts = 1, onResult } = options;
  const mutants = names === undefined ? LIVE_MUTANTS : names.map(mutantOf);
  const results: LiveResult[] = [];
  const judge = async (mutant: LiveMutant | undefined, detector: LiveDetectorName): Promise<void> => {
    const startedMs = performance.now();
    const failures: (Failure | undefined)[] = [];
    for (let n = 0; n < attempts; n += 1) failures.push(await expectedAttempt(mutant, detector));
    const passed = failures.every((failure) => failure?.kind === (mutant === undefined ? undefined : 'promise'));
    const result = { mutant, detector, failures, passed, wallMs: performance.now() - startedMs };
    results.push(result);
    onResult?.(result);
  };
  for (const mutant of mutants) await judge(mutant, mutant.caughtBy);
  for (const detector of new Set(mutants.map(({ caughtBy }) => caughtBy))) await judge(undefined, detector);
  return results;
}

function mutantOf(name: string): LiveMutant {
  const found = LIVE_MUTANTS.find((mutant) => mutant.name === name);
  if (found !== undefined) return found;
  throw new Error(`there is no live mutant "${name}"; there are ${LIVE_MUTANTS.map((known) => known.name).join(', ')}`);
}

/** One that ends unexpectedly, on a machine that is too busy say, tells nothing: it is made again, a few times. */
async function expectedAttempt(mutant: LiveMutant | undefined, name: LiveDetectorName): Promise<Failure | undefined> {
  for (let tries = 1; ; tries += 1) {
    const failure = await attempt(mutant, name);
    if (failure?.kind !== 'unexpected' || tries === MAX_TRIES) return failure;
  }
}

async function attempt(mutant: LiveMutant | undefined, name: LiveDetectorName): Promise<Failure | undefined> {
  const edits: EditsByUrl | undefined = mutant === undefined ? undefined : editsByUrl(mutant);
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-live-mutant-'));
  const notes = mkdtempSync(join(tmpdir(), 'holdfast-live-mutant-notes-'));
  const volumes = await Volumes.open();
  try {
    const planted = new Planted(edits, notes);
    const failure = await LIVE_DETECTORS[name]({ planted, volumes, directory }).catch(unexpectedFailure);
    const missing = planted.missing();
    if (missing.length === 0) return failure;
    return { kind: 'unexpected', name: 'never-loaded', message: `never loaded: ${missing.join(', ')}` };
  } finally {
    await volumes.close();
    for (const path of [directory, notes]) rmSync(path, { recursive: true, force: true });
  }
}
