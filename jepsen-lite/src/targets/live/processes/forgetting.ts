/**
 * When the others have forgotten the log that a killed server lacks, so that its next start needs a snapshot. How soon that is depends on
 * how much clients get to write, which on a busy machine is less than was planned.
 */

import { serverHost } from '../../../plan/plan.ts';
import type { Scraper } from './scrape.ts';

export interface ForgettingOptions {
  readonly scraper: Pick<Scraper, 'leader' | 'snapshotsTaken'>;
  /** It was started meanwhile: there is nothing to wait for. */
  readonly isUp: (host: string) => boolean;
  readonly runUntil: (condition: () => boolean, maxMs: number) => Promise<boolean>;
}

/** Of a leader, after the kill: with the first ones the log behind an earlier one may stay, and its count is seconds old. */
const SNAPSHOTS = 3;
/** Others may have struck so many that nobody writes. */
const LIMIT_MS = 30_000;

export class Forgetting {
  readonly #options: ForgettingOptions;
  /** What each server had taken by then. */
  readonly #atKill = new Map<string, ReadonlyMap<string, number>>();

  constructor(options: ForgettingOptions) {
    this.#options = options;
  }

  killed(host: string): void {
    this.#atKill.set(host, this.#options.scraper.snapshotsTaken);
  }

  /** Resolves after a limit, too. */
  async forgotten(host: string): Promise<void> {
    const { scraper, isUp, runUntil } = this.#options;
    const atKill = this.#atKill.get(host);
    if (atKill === undefined) return;
    const hasForgotten = (): boolean => {
      if (scraper.leader === undefined) return false;
      const leader = serverHost(scraper.leader);
      return (scraper.snapshotsTaken.get(leader) ?? 0) >= (atKill.get(leader) ?? 0) + SNAPSHOTS;
    };
    await runUntil(() => isUp(host) || hasForgotten(), LIMIT_MS);
  }
}
