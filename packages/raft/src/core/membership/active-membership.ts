/**
 * Who counts, by the configurations that are in force: the last one of the log, committed or not, decides; whom an earlier one that may
 * come into force again names is replicated to as well.
 */

import type { VoterSets } from '../quorum/active-quorums.ts';
import { decodeConfiguration } from './configuration-codec.ts';
import { ConfigurationHistory, type ConfigurationAt } from './configuration-history.ts';
import { memberOf, voterSets, type Configuration } from './configuration.ts';
import { logIndex, type LogIndex, type ServerId, type SnapshotPosition } from '../types.ts';

export class ActiveMembership {
  readonly configurations: ConfigurationHistory;
  /** Whom a leader replicates to, sorted, without the own id: members, and those that a configuration still uncommitted removes. */
  peers: readonly ServerId[] = [];
  /** Whose majorities decide, by the configuration in force. */
  voterSets: VoterSets = [];
  /** Those of the peers whose votes count, in one of the sets or in both. */
  electorate: readonly ServerId[] = [];
  /** The configuration in force leads nowhere else: it is not joint, and has this server and no learner in it. */
  stable = true;
  /** Grows whenever another configuration counts, or one becomes committed. */
  version = 0;
  readonly #ownId: ServerId;
  readonly #initial: Configuration;

  constructor(ownId: ServerId, initial: Configuration, snapshot: SnapshotPosition | undefined) {
    this.#ownId = ownId;
    this.#initial = initial;
    this.configurations = new ConfigurationHistory(this.#configurationOf(snapshot));
  }

  get latest(): ConfigurationAt {
    return this.configurations.latest;
  }

  append(index: LogIndex, data: Uint8Array): void {
    this.configurations.append({ index, configuration: decodeConfiguration(data) });
  }

  /** A snapshot replaces the whole log. */
  beginAt(snapshot: SnapshotPosition): void {
    this.configurations.reset(this.#configurationOf(snapshot));
  }

  /** After every change of which configurations count. */
  update(commit: LogIndex): void {
    const peers = new Set<ServerId>();
    for (const { configuration } of this.configurations.since(commit)) {
      for (const { id } of configuration.members) if (id !== this.#ownId) peers.add(id);
    }
    this.peers = [...peers].toSorted((a, b) => a - b);
    const { configuration } = this.latest;
    this.voterSets = voterSets(configuration);
    this.version += 1;
    this.stable =
      memberOf(configuration, this.#ownId) !== undefined &&
      !configuration.members.some(({ role, outgoing }) => outgoing || role === 'learner');
    const voters = new Set(this.voterSets.flat());
    this.electorate = this.peers.filter((peer) => voters.has(peer));
  }

  /**
   * Whether this server may stand. One that an uncommitted configuration removes still may: it may be the only one that can win where
   * it has the longest log, though its own vote does not count.
   */
  mayStand(commit: LogIndex): boolean {
    return this.configurations.since(commit).some(({ configuration }) => {
      const member = memberOf(configuration, this.#ownId);
      return member !== undefined && (member.role === 'voter' || member.outgoing);
    });
  }

  /** The one that a snapshot says was in force at its end; without one, that of index 0. */
  #configurationOf(snapshot: SnapshotPosition | undefined): ConfigurationAt {
    if (snapshot === undefined) return { index: logIndex(0), configuration: this.#initial };
    return { index: snapshot.index, configuration: decodeConfiguration(snapshot.configuration) };
  }
}
