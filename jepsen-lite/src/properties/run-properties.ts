/**
 * The promises of the state machine under random scripts: runs them with fast-check, shrinks the first script that breaks one, and says
 * what broke and how to have it again. What it runs on is the product as it is loaded, so a planted bug needs no change here.
 */

import fc from 'fast-check';

import { StateMachine } from '@holdfast/state';

import { CoverageCounter, type Coverage } from './coverage.ts';
import { LIMITS } from './limits.ts';
import type { MakeMachine } from './observation/machine.ts';
import { PROMISES } from './promises.ts';
import { describeScript, runScript, type Breach, type Setting } from './run-script.ts';
import { ScriptArbitrary } from './script/script-arbitrary.ts';
import type { Script } from './script/smaller-scripts.ts';
import type { StatePromise } from './state-promise.ts';

/** Runs that shrinking may take; a script that is not the smallest by then is good enough. */
const MAX_SHRINK_RUNS = 3_000;

export interface PropertyOptions {
  readonly runs: number;
  /** Of each run. */
  readonly commands: number;
  readonly seed: number;
  /** Of an earlier failure with the same seed and number of commands: runs only that script. */
  readonly path?: string;
  /** @default PROMISES */
  readonly promises?: readonly (() => StatePromise)[];
  /** The machine under test, with the limits of LIMITS. @default the StateMachine */
  readonly makeMachine?: MakeMachine;
  /** The machine to compare it with. @default makeMachine */
  readonly makeTwin?: MakeMachine;
}

export interface PropertyFailure extends Breach {
  /** The shrunk script: every entry with what came of it, the last of which broke the promise. */
  readonly commands: readonly string[];
  /** The first run that failed, from 1 on. */
  readonly run: number;
  readonly seed: number;
  readonly path: string;
}

export interface PropertyReport {
  readonly passed: boolean;
  /** Runs until the first failure, or all of them. */
  readonly runs: number;
  readonly commands: number;
  readonly seed: number;
  /** Of these runs. */
  readonly coverage: Coverage;
  readonly failure?: PropertyFailure;
}

export function runProperties(options: PropertyOptions): PropertyReport {
  const { runs, commands, seed, path } = options;
  const { makeMachine = () => new StateMachine({ limits: LIMITS }), promises = PROMISES } = options;
  const setting: Setting = { makeMachine, makeTwin: options.makeTwin ?? makeMachine, promises };
  const counter = new CoverageCounter();
  let first: Breach | undefined;
  let last: Breach | undefined;
  let done = 0;
  let attempts = 0;

  const property = fc.property(new ScriptArbitrary(commands), (script: Script) => {
    if (first !== undefined) {
      // A shorter script counts only if it breaks the same promise.
      attempts += 1;
      if (attempts > MAX_SHRINK_RUNS) return true;
      const breach = runScript(script, setting);
      if (breach?.name !== first.name) return true;
      last = breach;
      return false;
    }
    done += 1;
    first = last = runScript(script, setting, (step) => counter.count(step));
    return first === undefined;
  });
  const details = fc.check(property, { numRuns: runs, seed, ...(path === undefined ? {} : { path }) });
  const summary = { runs: done, commands, seed: details.seed, coverage: counter.coverage };
  const script = details.counterexample?.[0];
  if (!details.failed || script === undefined || last === undefined) {
    if (details.failed) throw new Error('the property runner failed by itself', { cause: details.errorInstance });
    return { passed: true, ...summary };
  }
  const failure: PropertyFailure = {
    ...(last as Breach),
    commands: describeScript(script, setting),
    run: details.numRuns,
    seed: details.seed,
    path: details.counterexamplePath ?? '',
  };
  return { passed: false, ...summary, failure };
}

/** A failure as text: what broke, the script, and how to run it again. */
export function describeFailure({ failure, commands }: PropertyReport): string {
  if (failure === undefined) return 'no promise was broken';
  const { name, message, also = [], run, seed, path } = failure;
  return [
    `broken in run ${run}: ${name}`,
    `  ${message}`,
    ...also.map((other) => `  broken by the same entry: ${other}`),
    `  seed ${seed}, path ${path}, ${commands} commands; the script, shrunk to ${failure.commands.length} entries:`,
    ...failure.commands.map((line) => `    ${line}`),
  ].join('\n');
}
