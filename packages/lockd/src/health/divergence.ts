/**
 * Finds servers whose state is not what the log makes of it. Every server keeps the state's fold at every multiple of a fixed
 * index and tells the leader, who compares: a follower that disagrees with the majority is told to stop, a leader that does
 * stops itself, and without a majority everyone refuses writes. What may not have reached the leader is told again.
 */

import { NO_SERVER, type Entry, type ReplicaStatus, type ServerId } from '@holdfast/raft';
import type { Logger } from '@holdfast/runtime';
import { FOLD_HISTORY, FOLD_INTERVAL } from '../limits.ts';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { PeerMessage } from '../peers/peer-message.ts';

/** This server's state is not the majority's; it must not serve any longer. */
export class DivergenceError extends Error {
  constructor(index: number, own: number, majority: number) {
    super(
      `at index ${index} this server's state has the fold ${own} and the majority's has ${majority}: ` +
        'its memory or disk is faulty, or it runs another version; keep its data for inspection and start it on an empty directory',
    );
    this.name = 'DivergenceError';
  }
}

export type Verdict =
  | { readonly type: 'open' }
  | { readonly type: 'majority'; readonly fold: number; readonly others: readonly ServerId[] }
  | { readonly type: 'no-majority' };

/** What the reports about one index say, out of `members` servers. */
export function compareFolds(reports: ReadonlyMap<ServerId, number>, members: number): Verdict {
  const votes = new Map<number, number>();
  for (const fold of reports.values()) votes.set(fold, (votes.get(fold) ?? 0) + 1);
  const majority = Math.floor(members / 2) + 1;
  for (const [fold, count] of votes) {
    if (count < majority) continue;
    const others = [...reports].filter(([, other]) => other !== fold).map(([server]) => server);
    return { type: 'majority', fold, others };
  }
  const missing = members - reports.size;
  const best = Math.max(0, ...votes.values());
  return best + missing < majority ? { type: 'no-majority' } : { type: 'open' };
}

export interface DivergenceDeps {
  readonly serverId: ServerId;
  readonly logger: Logger;
  /** That of the state as it is now. */
  fold(): number;
  members(): readonly ServerId[];
  send(peer: ServerId, message: PeerMessage): void;
  /** Whether what is sent to the peer has a connection to leave on. */
  reaches(peer: ServerId): boolean;
  /** This server must stop. */
  diverged(error: DivergenceError): void;
  /** No majority agrees: writes must be refused from now on. */
  halted(index: number): void;
}

export class DivergenceCheck implements ServerPart {
  readonly memberMessages: PeerHandlers = {
    fold: (from, { index, fold }) => this.#reported(from, index, fold),
    diverged: (_from, { index, fold }) => this.#toldDiverged(index, fold),
  };
  readonly #deps: DivergenceDeps;
  /** 0 while unknown. */
  #leader: number = NO_SERVER;
  /** The own folds, by index. */
  readonly #own = new Map<number, number>();
  /** What has been reported here, by index and server. */
  readonly #reports = new Map<number, Map<ServerId, number>>();
  /** The leader may not know the newest of the own folds. */
  #untold = false;

  constructor(deps: DivergenceDeps) {
    this.#deps = deps;
  }

  applied({ index }: Pick<Entry, 'index'>): void {
    if (index % FOLD_INTERVAL === 0) {
      const value = this.#deps.fold();
      keepNewest(this.#own, index, value);
      this.#untold = this.#leader !== this.#deps.serverId;
      // A leader to be may get reports before it knows that it leads, so that its own is always among them.
      this.#report(this.#deps.serverId, index, value);
    }
    if (this.#untold) this.#tellLeader();
  }

  /** The state is another's now, and what was said of the one before counts no more. */
  restored(index: Entry['index']): void {
    this.#own.clear();
    for (const reports of this.#reports.values()) reports.delete(this.#deps.serverId);
    this.#untold = false;
    this.applied({ index });
  }

  /** Another server leads, perhaps this one: it must hear what its predecessor was told. */
  statusChanged({ leader }: Pick<ReplicaStatus, 'leader'>): void {
    if (leader === this.#leader) return;
    this.#leader = leader;
    this.#untold = this.#own.size > 0;
    if (this.#untold) this.#tellLeader();
  }

  /** What was said to the peer may be lost. */
  connectionLost(peer: ServerId): void {
    if (peer === this.#leader) this.#untold = this.#own.size > 0;
  }

  #reported(from: ServerId, index: number, fold: number): void {
    if (!this.#deps.members().includes(from)) return;
    this.#report(from, index, fold);
  }

  /** The leader says that a majority has `fold` at `index`. */
  #toldDiverged(index: number, fold: number): void {
    const own = this.#own.get(index);
    if (own !== undefined && own !== fold) this.#deps.diverged(new DivergenceError(index, own, fold));
  }

  #tellLeader(): void {
    const leader = this.#leader as ServerId;
    const own = leader === this.#deps.serverId;
    const index = Math.max(...this.#own.keys());
    const fold = this.#own.get(index);
    if (fold === undefined || leader === NO_SERVER || (!own && !this.#deps.reaches(leader))) return;
    this.#untold = false;
    if (own) this.#report(leader, index, fold);
    else this.#deps.send(leader, { type: 'fold', index, fold });
  }

  #report(from: ServerId, index: number, fold: number): void {
    let reports = this.#reports.get(index);
    if (reports === undefined) {
      reports = new Map();
      keepNewest(this.#reports, index, reports);
    }
    reports.set(from, fold);
    if (this.#leader === this.#deps.serverId) this.#judge(index, reports);
  }

  #judge(index: number, reports: ReadonlyMap<ServerId, number>): void {
    const members = this.#deps.members();
    const verdict = compareFolds(reports, members.length);
    switch (verdict.type) {
      case 'open':
        return;
      case 'majority':
        for (const server of verdict.others) {
          this.#deps.logger.error(
            { peer: server, index },
            'the state of a server differs from the majority; it must stop',
          );
          if (server === this.#deps.serverId) this.#toldDiverged(index, verdict.fold);
          else this.#deps.send(server, { type: 'diverged', index, fold: verdict.fold });
        }
        return;
      case 'no-majority':
        this.#deps.logger.error({ index }, 'no majority of the servers has the same state; writes are refused');
        for (const server of members) {
          if (server !== this.#deps.serverId) this.#deps.send(server, { type: 'halted', index });
        }
        this.#deps.halted(index);
        return;
    }
  }
}

function keepNewest<T>(byIndex: Map<number, T>, index: number, value: T): void {
  byIndex.set(index, value);
  if (byIndex.size > FOLD_HISTORY) byIndex.delete(Math.min(...byIndex.keys()));
}
