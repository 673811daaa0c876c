/** Raft's safety, looked at after every step of every server of a cluster of bare cores. */

import type { Configuration, ConfiguredMember, Entry, ServerId } from '../../../src/core/index.ts';
import { BrokenPromise } from './broken-promise.ts';
import type { Node } from './core-cluster.ts';

export class ClusterSafety {
  readonly committed: Entry[] = [];
  readonly leaders = new Map<number, ServerId>();
  readonly #nodes: () => readonly Node[];
  #checkedCommit = 0;
  #lastTerm = new Map<ServerId, number>();

  constructor(nodes: () => readonly Node[]) {
    this.#nodes = nodes;
  }

  /** State-machine safety: no two servers apply different entries at one index. */
  applied(node: Node, entry: Entry): void {
    const known = this.committed[entry.index - 1];
    if (known === undefined) {
      if (entry.index !== this.committed.length + 1) throw new BrokenPromise('applied with a gap');
      this.committed.push(entry);
    } else if (known.term !== entry.term || Buffer.compare(known.data, entry.data) !== 0) {
      throw new BrokenPromise(`server ${node.id} applied another entry at ${entry.index}`);
    }
  }

  /** After each of its steps. */
  stepped(node: Node): void {
    const { role, term: present, commitIndex } = node.core.status;
    if (present < (this.#lastTerm.get(node.id) ?? 0) && node.up) throw new BrokenPromise(`term of ${node.id} fell`);
    this.#lastTerm.set(node.id, Math.min(present, node.disk.hardState.term));
    if (role === 'leader') {
      const known = this.leaders.get(present);
      if (known !== undefined && known !== node.id) throw new BrokenPromise(`two leaders in term ${present}`);
      this.leaders.set(present, node.id);
      if (node.core.status.lastIndex < this.committed.length && !this.#superseded(node)) {
        throw new BrokenPromise(`leader ${node.id} of term ${present} lacks committed entries`);
      }
    }
    if (commitIndex > node.core.status.lastIndex) throw new BrokenPromise('commit beyond the log');
  }

  /**
   * What a leader commits is on disk at a majority of the voters, and at one of the voters that are left while it is joint; by the
   * configuration with which it began the step, or one that was asked for in it.
   */
  commits(node: Node, configurations: readonly Configuration[]): void {
    const { role, commitIndex } = node.core.status;
    if (role !== 'leader' || commitIndex <= this.#checkedCommit) return;
    const own = node.core.termAt(commitIndex);
    const holds = (id: ServerId): boolean => {
      const { base, entries } = this.#diskOf(id);
      return commitIndex <= base.index || entries[commitIndex - base.index - 1]?.term === own;
    };
    const majority = (voters: readonly ConfiguredMember[]): boolean =>
      voters.filter(({ id }) => holds(id)).length * 2 > voters.length;
    const enough = configurations.some(({ members }) => {
      const outgoing = members.filter((member) => member.outgoing);
      return (
        majority(members.filter((member) => member.role === 'voter')) && (outgoing.length === 0 || majority(outgoing))
      );
    });
    if (!enough) throw new BrokenPromise(`leader ${node.id} commits ${commitIndex} without a majority of every set`);
    this.#checkedCommit = commitIndex;
  }

  #diskOf(id: ServerId): Node['disk'] {
    const node = this.#nodes()[id - 1];
    if (node === undefined) throw new Error(`no server ${id}`);
    return node.disk;
  }

  #superseded(node: Node): boolean {
    return this.#nodes().some((other) => other.core.status.term > node.core.status.term);
  }
}
