/**
 * The leader raises the version by which all servers apply entries, to the highest that every member has offered for a while: a member
 * that did not know it would stop at the entry that raises it. The while is for an upgrade that has just reached its last server, and may be
 * taken back. An ensemble that was just founded has nothing to go back to, and does not wait.
 */

import { CommandType, encodeCommand, hasFeature, type FeatureSet } from '@holdfast/protocol';
import {
  EntryType,
  PeerFeature,
  type Entry,
  type LogIndex,
  type PeerInfo,
  type ReplicaStatus,
  type ServerId,
} from '@holdfast/raft';
import type { Clock, Logger, Timer } from '@holdfast/runtime';
import { LATEST_STATE_VERSION, encodeEntry, type StateMachine } from '@holdfast/state';
import { FOUNDING_CHECK_MS, FOUNDING_MS, STATE_UPGRADE_CHECK_MS } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';

/** By the name of each: what a member that applies entries by version N offers is called `stateVersionN`. */
const FEATURES: Readonly<Record<string, FeatureSet>> = PeerFeature;

export interface StateUpgradeDeps {
  readonly serverId: ServerId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly state: Pick<StateMachine, 'version'>;
  readonly peers: () => readonly PeerInfo[];
  /** So often in a row the same version must be the highest that all offer before the leader raises it. */
  readonly checks: number;
  /** This server is a founder, and its log was empty when it started. */
  readonly founder: boolean;
  /** False while the leader takes no new entries. */
  readonly mayPropose: () => boolean;
  readonly propose: (entry: Uint8Array) => void;
}

export class StateUpgrade implements ServerPart {
  readonly #deps: StateUpgradeDeps;
  /** The version that was applied last. */
  #version: number;
  /** The term in which this server leads; 0 while it does not. */
  #term = 0;
  #timer: Timer | undefined;
  /** The highest version that every member offered at the last check. */
  #highest = 0;
  /** Checks in a row at which that was so. */
  #offered = 0;
  /** So many checks are left in which the ensemble counts as just founded, by the first leader that it has. */
  #foundingChecks: number;

  constructor(deps: StateUpgradeDeps) {
    this.#deps = deps;
    this.#version = deps.state.version;
    this.#foundingChecks = deps.founder ? FOUNDING_MS / FOUNDING_CHECK_MS : 0;
  }

  statusChanged(status: ReplicaStatus): void {
    const term = status.ready ? status.term : 0;
    if (term === this.#term) return;
    if (this.#term !== 0) this.#foundingChecks = 0;
    this.stop();
    this.#term = term;
    this.#schedule();
  }

  reported({ index, type }: Entry): void {
    // Others have led before.
    if (this.#term === 0 && type === EntryType.command) this.#foundingChecks = 0;
    this.#noteVersion(index);
  }

  restored(index: LogIndex): void {
    this.#foundingChecks = 0;
    this.#noteVersion(index);
  }

  fail(): void {
    this.stop();
  }

  #noteVersion(index: LogIndex): void {
    const { state, logger } = this.#deps;
    if (state.version === this.#version) return;
    logger.info(
      { index, from: this.#version, to: state.version },
      'the ensemble applies entries by a later state version',
    );
    this.#version = state.version;
    // What was offered so far was the version that is in force now.
    this.#offered = 0;
  }

  stop(): void {
    this.#term = 0;
    this.#offered = 0;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#term === 0 || this.#deps.state.version >= LATEST_STATE_VERSION) return;
    const checkMs = this.#foundingChecks > 0 ? FOUNDING_CHECK_MS : STATE_UPGRADE_CHECK_MS;
    this.#timer = this.#deps.clock.setTimer(checkMs, () => {
      this.#check();
      this.#schedule();
    });
  }

  #check(): void {
    const { state, checks, mayPropose, propose } = this.#deps;
    const version = this.#highestOffered();
    const offered = version === this.#highest ? this.#offered + 1 : 1;
    this.#highest = version;
    // It may have been raised since this check was planned, by an entry that took long.
    this.#offered = version > state.version && mayPropose() ? offered : 0;
    const isFounding = this.#foundingChecks > 0;
    if (isFounding) this.#foundingChecks -= 1;
    if (this.#offered < (isFounding ? 1 : checks)) return;
    // If it is lost, the members are asked again as long before the next.
    this.#offered = 0;
    const header = { command: CommandType.raiseStateVersion, session: 0, generation: 0, number: 0, ackedUpTo: 0 };
    propose(encodeEntry(header, encodeCommand({ type: 'raiseStateVersion', version })));
  }

  /** The version in force where they do not all know a later one. */
  #highestOffered(): number {
    let { version } = this.#deps.state;
    while (version < LATEST_STATE_VERSION && this.#allOffer(version + 1)) version += 1;
    return version;
  }

  #allOffer(version: number): boolean {
    const { serverId, peers } = this.#deps;
    const feature = FEATURES[`stateVersion${version}`];
    if (feature === undefined) return false;
    return peers().every(
      ({ id, connected, features }) => id === serverId || (connected && hasFeature(features, feature)),
    );
  }
}
