/**
 * Plants a bug in whole live runs, as `jepsen run` makes them, and demands that they are invalid for the reason that the bug's entry
 * names. The product itself goes through the same runs, which must be valid.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { execute } from '../../../campaigns/live/execute.ts';
import { Planted } from '../../../patches/planted.ts';
import { editsByUrl } from '../../../patches/product.ts';
import { LIVE_MUTANTS } from '../catalogue.ts';
import type { LiveMutant } from '../live-mutant.ts';
import { wholeRun, type WholeRunName } from './scenarios.ts';

/** Of all runs, those that must show the bug. */
const MUST_SHOW = 0.9;
const MAX_TRIES = 3;
/** At most, of each kind of run without a bug. */
const MAX_CONTROLS = 3;
/** A machine on which other things run is slow. A bug that keeps clients from working for ever needs no longer. */
const RECOVERY_MS = 40_000;

export interface RunWholeOptions {
  /** Only these. @default all that a whole run can show */
  readonly names?: readonly string[];
  /** Runs of each bug. @default 1 */
  readonly attempts?: number;
  readonly onResult?: (result: WholeResult) => void;
}

export interface WholeAttempt {
  readonly seed: number;
  /** As it must be: for the reason that was named, or valid. */
  readonly expected: boolean;
  /** What the run ended with, in a line. */
  readonly as: string;
  readonly wallMs: number;
  /** Clients have called something. */
  readonly began: boolean;
  /** Of a run that was not as expected: its directory, which is kept. */
  readonly kept: string | undefined;
}

export interface WholeResult {
  /** Undefined: the product as it is. */
  readonly mutant: LiveMutant | undefined;
  readonly run: WholeRunName;
  readonly attempts: readonly WholeAttempt[];
  readonly passed: boolean;
}

/** Bugs in the order of the catalogue, then each of their runs without one. @throws when a name is not that of a bug that such a run can show */
export async function runWhole(options: RunWholeOptions = {}): Promise<readonly WholeResult[]> {
  const { names, attempts = 1, onResult } = options;
  const shown = LIVE_MUTANTS.filter(({ whole }) => 'run' in whole);
  const mutants = names === undefined ? shown : names.map((name) => mutantOf(name, shown));
  const results: WholeResult[] = [];
  const judge = async (mutant: LiveMutant | undefined, run: WholeRunName): Promise<void> => {
    const made: WholeAttempt[] = [];
    const count = mutant === undefined ? Math.min(attempts, MAX_CONTROLS) : attempts;
    for (let seed = 1; seed <= count; seed += 1) made.push(await attemptThatBegan(mutant, run, seed));
    const expected = made.filter((each) => each.expected).length;
    const passed = expected >= count * (mutant === undefined ? 1 : MUST_SHOW);
    const result = { mutant, run, attempts: made, passed };
    results.push(result);
    onResult?.(result);
  };
  const runs = new Set<WholeRunName>();
  for (const mutant of mutants) {
    if (!('run' in mutant.whole)) continue;
    runs.add(mutant.whole.run);
    await judge(mutant, mutant.whole.run);
  }
  for (const run of runs) await judge(undefined, run);
  return results;
}

function mutantOf(name: string, shown: readonly LiveMutant[]): LiveMutant {
  const found = shown.find((mutant) => mutant.name === name);
  if (found !== undefined) return found;
  const hidden = LIVE_MUTANTS.find((mutant) => mutant.name === name)?.whole;
  if (hidden !== undefined && 'hidden' in hidden) throw new Error(`no whole run can show ${name}: ${hidden.hidden}`);
  throw new Error(`there is no live mutant "${name}"; there are ${shown.map((known) => known.name).join(', ')}`);
}

/** One in which no client has called anything, on a machine that is too busy say, tells nothing: it is made again, a few times. */
async function attemptThatBegan(
  mutant: LiveMutant | undefined,
  run: WholeRunName,
  seed: number,
): Promise<WholeAttempt> {
  for (let tries = 1; ; tries += 1) {
    const made = await attemptWhole(mutant, run, seed);
    if (made.began || tries === MAX_TRIES) return made;
    if (made.kept !== undefined) rmSync(made.kept, { recursive: true, force: true });
  }
}

/** @param mutant undefined: the product as it is */
async function attemptWhole(mutant: LiveMutant | undefined, run: WholeRunName, seed: number): Promise<WholeAttempt> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-whole-'));
  const notes = mkdtempSync(join(tmpdir(), 'holdfast-whole-notes-'));
  const startedMs = performance.now();
  const planted = new Planted(mutant === undefined ? undefined : editsByUrl(mutant), notes);
  try {
    const { environment } = planted;
    const how = {
      target: 'live',
      directory,
      environment,
      loopback: true,
      recoveryMs: RECOVERY_MS,
      page: false,
    } as const;
    const { verdict, why, operations } = await execute(wholeRun(run, seed), how);
    const missing = planted.missing();
    const as = missing.length > 0 ? `never loaded: ${missing.join(', ')}` : `${verdict}: ${why.split('\n')[0]}`;
    const expected = missing.length === 0 && isExpected(mutant, verdict, why);
    if (expected) rmSync(directory, { recursive: true, force: true });
    const wallMs = performance.now() - startedMs;
    const began = Object.keys(operations).length > 0;
    return { seed, expected, as, wallMs, began, kept: expected ? undefined : directory };
  } finally {
    rmSync(notes, { recursive: true, force: true });
  }
}

function isExpected(mutant: LiveMutant | undefined, verdict: string, why: string): boolean {
  if (mutant === undefined) return verdict === 'valid';
  return verdict === 'invalid' && 'run' in mutant.whole && mutant.whole.as.some((reason) => reason.test(why));
}
