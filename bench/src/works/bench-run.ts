/** What every work of one run shares: the systems, how long to measure, where to put things, and what was found so far. */

import { join } from 'node:path';

import type { ResultRow } from '../report/result-row.ts';
import type { SystemUnderTest } from '../systems/system.ts';

export interface Effort {
  readonly warmUpMs: number;
  readonly rampMs: number;
  readonly windowMs: number;
  readonly windows: number;
  /** How often a window that others disturbed is repeated. */
  readonly repeats: number;
  /** Whether peers' own clients run beside our generators. */
  readonly native: boolean;
  /** Whether every row gets servers of its own, so that no log that grew weighs on the next row. */
  readonly freshServers: boolean;
  readonly killTrials: number;
  readonly watchRounds: number;
  /** Without data. `settleMs`: how long runtimes get to give memory back. */
  readonly ephemerals: { readonly count: number; readonly sessions: number; readonly settleMs: number };
  readonly nodes: number;
  readonly restartTrials: number;
}

export const FULL: Effort = {
  warmUpMs: 10_000,
  rampMs: 500,
  windowMs: 4_000,
  windows: 5,
  repeats: 4,
  native: true,
  freshServers: true,
  killTrials: 10,
  watchRounds: 50,
  ephemerals: { count: 100_000, sessions: 1_000, settleMs: 20_000 },
  nodes: 1_000_000,
  restartTrials: 5,
};

export const QUICK: Effort = {
  warmUpMs: 800,
  rampMs: 80,
  windowMs: 250,
  windows: 5,
  repeats: 0,
  native: false,
  freshServers: false,
  killTrials: 2,
  watchRounds: 20,
  ephemerals: { count: 10_000, sessions: 100, settleMs: 1_000 },
  nodes: 20_000,
  restartTrials: 1,
};

export class BenchRun {
  readonly effort: Effort;
  readonly systems: readonly SystemUnderTest[];
  readonly directory: string;
  readonly rows: ResultRow[] = [];
  readonly #report: (line: string) => void;
  #stages = 0;

  constructor(effort: Effort, systems: readonly SystemUnderTest[], directory: string, report: (line: string) => void) {
    this.effort = effort;
    this.systems = systems;
    this.directory = directory;
    this.#report = report;
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
