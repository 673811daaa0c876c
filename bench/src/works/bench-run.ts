/** What every work of one run shares: the systems, how long to measure, where to put things, and what was found so far. */

import { join } from 'node:path';

import type { ResultRow } from '../report/result-row.ts';
import type { Results } from '../report/results.ts';
import type { SystemUnderTest } from '../systems/system.ts';
import { Repeats, type RepeatLimits } from './repeats.ts';

/** Compilers count calls and not seconds, so a slow work takes longer to get warm: slices until everybody has done so many operations. */
export interface WarmUp {
  readonly sliceMs: number;
  readonly operations: number;
  /** At most. */
  readonly slices: number;
}

export interface Effort {
  readonly warmUp: WarmUp;
  readonly rampMs: number;
  readonly windowMs: number;
  readonly windows: number;
  /** Of what others disturbed. */
  readonly repeats: RepeatLimits;
  /** Whether peers' own clients run beside our generators. */
  readonly native: boolean;
  /** Whether every row gets servers of its own, so that no log that grew weighs on the next row. */
  readonly freshServers: boolean;
  readonly killTrials: number;
  readonly watchRounds: number;
  /** Of one lock: hand-overs in each turn with few and with `many` waiters, `rounds` turns each. */
  readonly waiters: { readonly many: number; readonly handOvers: number; readonly rounds: number };
  /** Without data. `collectMs`: how long runtimes get to give memory back before it is looked at `looks` times. */
  readonly ephemerals: {
    readonly count: number;
    readonly sessions: number;
    readonly collectMs: number;
    readonly looks: number;
    readonly lookEveryMs: number;
  };
  readonly nodes: number;
  readonly restartTrials: number;
}

export const FULL: Effort = {
  warmUp: { sliceMs: 2_500, operations: 40_000, slices: 10 },
  rampMs: 300,
  windowMs: 2_000,
  windows: 5,
  repeats: { each: 12, inAllMs: 600_000 },
  native: true,
  freshServers: true,
  killTrials: 10,
  watchRounds: 50,
  waiters: { many: 10_000, handOvers: 5_000, rounds: 5 },
  ephemerals: { count: 100_000, sessions: 1_000, collectMs: 15_000, looks: 5, lookEveryMs: 1_000 },
  nodes: 1_000_000,
  restartTrials: 5,
};

export const QUICK: Effort = {
  warmUp: { sliceMs: 800, operations: 0, slices: 1 },
  rampMs: 80,
  windowMs: 250,
  windows: 5,
  repeats: { each: 0, inAllMs: 0 },
  native: false,
  freshServers: false,
  killTrials: 2,
  watchRounds: 20,
  waiters: { many: 1_000, handOvers: 500, rounds: 1 },
  ephemerals: { count: 10_000, sessions: 100, collectMs: 1_000, looks: 2, lookEveryMs: 100 },
  nodes: 20_000,
  restartTrials: 1,
};

export class BenchRun {
  readonly effort: Effort;
  readonly systems: readonly SystemUnderTest[];
  readonly directory: string;
  readonly results: Results;
  readonly repeats: Repeats;
  readonly #report: (line: string) => void;
  readonly #failures: string[] = [];
  #stages = 0;

  constructor(
    effort: Effort,
    systems: readonly SystemUnderTest[],
    { directory, results }: { readonly directory: string; readonly results: Results },
    report: (line: string) => void,
  ) {
    this.effort = effort;
    this.systems = systems;
    this.directory = directory;
    this.results = results;
    this.repeats = new Repeats(effort.repeats);
    this.#report = report;
  }

  get rows(): readonly ResultRow[] {
    return this.results.rows;
  }

  /** Of the works that could not be measured to their end, what went wrong. */
  get failures(): readonly string[] {
    return this.#failures;
  }

  /** A failure is noted, and the next work goes on: an hour's figures do not depend on each other. */
  async attempt(work: string, measure: () => Promise<void>): Promise<void> {
    const begun = performance.now();
    try {
      await measure();
      this.say(`${work}: took ${Math.round((performance.now() - begun) / 1_000)} s`);
    } catch (error) {
      const failure = `${work}: ${error instanceof Error ? error.message : String(error)}`;
      this.#failures.push(failure);
      this.say(`FAILED ${failure}`);
    }
  }

  /** Progress, for whoever waits. */
  say(line: string): void {
    this.#report(line);
  }

  stageDirectory(name: string): string {
    this.#stages += 1;
    return join(this.directory, `${String(this.#stages).padStart(2, '0')}-${name}`);
  }
}
