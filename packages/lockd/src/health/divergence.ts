/**
 * Finds servers whose state is not what the log makes of it. Every server keeps the state digest at every multiple of a fixed
 * index and reports it to the leader, who compares: a follower that disagrees with the majority must stop, a leader that does
 * stops itself, and without a majority everyone refuses writes. What may not have reached the leader is sent again.
 */

import { NO_SERVER, type Entry, type ReplicaStatus, type ServerId } from '@holdfast/raft';
import type { Logger } from '@holdfast/runtime';
import { STATE_DIGEST_HISTORY, STATE_DIGEST_INTERVAL } from '../limits.ts';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { PeerMessage } from '../peers/peer-message.ts';

/** This server's state is not the majority's; it must not serve any longer. */
export class DivergenceError extends Error {
  constructor(index: number, own: number, majority: number) {
    super(
      `at index ${index} this server's state has the digest ${own} and the majority's has ${majority}: ` +
        'its memory or disk is faulty, or it runs another version; keep its data for inspection and start it on an empty directory',
    );
    this.name = 'DivergenceError';
  }
}

export type Verdict =
  | { readonly type: 'open' }
  | { readonly type: 'majority'; readonly digest: number; readonly others: readonly ServerId[] }
  | { readonly type: 'no-majority' };

/** What the reports about one index say, out of `members` servers. */
export function compareDigests(reports: ReadonlyMap<ServerId, number>, members: number): Verdict {
  const votes = new Map<number, number>();
  for (const digest of reports.values()) votes.set(digest, (votes.get(digest) ?? 0) + 1);
  const majority = Math.floor(members / 2) + 1;
  for (const [digest, count] of votes) {
    if (count < majority) continue;
    const others = [...reports].filter(([, other]) => other !== digest).map(([server]) => server);
    return { type: 'majority', digest, others };
  }
  const missing = members - reports.size;
  const best = Math.max(0, ...votes.values());
  return best + missing < majority ? { type: 'no-majority' } : { type: 'open' };
}

export interface DivergenceDeps {
  readonly serverId: ServerId;
  readonly logger: Logger;
  /** That of the state as it is now. */
  digest(): number;
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
    'state-digest': (from, { index, digest }) => this.#reported(from, index, digest),
    diverged: (_from, { index, digest }) => this.#differsFromMajority(index, digest),
  };
  readonly #deps: DivergenceDeps;
  /** 0 while unknown. */
  #leader: number = NO_SERVER;
  /** The own digests, by index. */
  readonly #own = new Map<number, number>();
  /** What has been reported here, by index and server. */
  readonly #reports = new Map<number, Map<ServerId, number>>();
  /** The leader may not know the newest of the own digests. */
  #unreported = false;

  constructor(deps: DivergenceDeps) {
    this.#deps = deps;
  }

  applied({ index }: Pick<Entry, 'index'>): void {
    if (index % STATE_DIGEST_INTERVAL === 0) {
      const value = this.#deps.digest();
      keepNewest(this.#own, index, value);
      this.#unreported = this.#leader !== this.#deps.serverId;
      // A leader to be may get reports before it knows that it leads, so that its own is always among them.
      this.#report(this.#deps.serverId, index, value);
    }
    if (this.#unreported) this.#reportToLeader();
  }

  /** The state is another's now, and what was said of the one before counts no more. */
  restored(index: Entry['index']): void {
    this.#own.clear();
    for (const reports of this.#reports.values()) reports.delete(this.#deps.serverId);
    this.#unreported = false;
    this.applied({ index });
  }

  /** Another server leads, perhaps this one: it must hear what its predecessor was sent. */
  statusChanged({ leader }: Pick<ReplicaStatus, 'leader'>): void {
    if (leader === this.#leader) return;
    this.#leader = leader;
    this.#unreported = this.#own.size > 0;
    if (this.#unreported) this.#reportToLeader();
  }

  /** What was said to the peer may be lost. */
  connectionLost(peer: ServerId): void {
    if (peer === this.#leader) this.#unreported = this.#own.size > 0;
  }

  #reported(from: ServerId, index: number, digest: number): void {
    if (!this.#deps.members().includes(from)) return;
    this.#report(from, index, digest);
  }

  /** The leader says that a majority has `digest` at `index`. */
  #differsFromMajority(index: number, digest: number): void {
    const own = this.#own.get(index);
    if (own !== undefined && own !== digest) this.#deps.diverged(new DivergenceError(index, own, digest));
  }

  #reportToLeader(): void {
    const leader = this.#leader as ServerId;
    const own = leader === this.#deps.serverId;
    const index = Math.max(...this.#own.keys());
    const digest = this.#own.get(index);
    if (digest === undefined || leader === NO_SERVER || (!own && !this.#deps.reaches(leader))) return;
    this.#unreported = false;
    if (own) this.#report(leader, index, digest);
    else this.#deps.send(leader, { type: 'state-digest', index, digest });
  }

  #report(from: ServerId, index: number, digest: number): void {
    let reports = this.#reports.get(index);
    if (reports === undefined) {
      reports = new Map();
      keepNewest(this.#reports, index, reports);
    }
    reports.set(from, digest);
    if (this.#leader === this.#deps.serverId) this.#judge(index, reports);
  }

  #judge(index: number, reports: ReadonlyMap<ServerId, number>): void {
    const members = this.#deps.members();
    const verdict = compareDigests(reports, members.length);
    switch (verdict.type) {
      case 'open':
        return;
      case 'majority':
        for (const server of verdict.others) {
          this.#deps.logger.error(
            { peer: server, index },
            'the state of a server differs from the majority; it must stop',
          );
          if (server === this.#deps.serverId) this.#differsFromMajority(index, verdict.digest);
          else this.#deps.send(server, { type: 'diverged', index, digest: verdict.digest });
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
  if (byIndex.size > STATE_DIGEST_HISTORY) byIndex.delete(Math.min(...byIndex.keys()));
}
