/**
 * What was asked of a cluster of bare cores, and how it ended: every proposal, read, transfer and change has exactly one outcome, and a
 * read one that is linearizable.
 */

import {
  EntryType,
  type Effect,
  type Entry,
  type LogIndex,
  type MembershipOutcome,
  type RaftEvent,
  type ServerId,
} from '../../../src/core/index.ts';
import { BrokenPromise } from './broken-promise.ts';
import type { Node } from './core-cluster.ts';

/** What was asked of a server that was then in this term of this life. */
interface Proposal {
  readonly server: ServerId;
  readonly incarnation: number;
  readonly term: number;
  rejected: string | undefined;
}

export class Outcomes {
  /** By ticket: how each change ended. */
  readonly changes = new Map<number, MembershipOutcome>();
  /** By command, which must be used once. */
  readonly proposals = new Map<string, Proposal>();
  readonly #committed: readonly Entry[];

  /** `committed`: grows. */
  constructor(committed: readonly Entry[]) {
    this.#committed = committed;
  }

  /** Remembers what will have to have an outcome. */
  heard(node: Node, event: RaftEvent): void {
    if (event.type === 'read-index') node.pendingReads.set(event.ticket, this.#committed.length);
    if (event.type === 'transfer') node.transferPending = true;
    if (event.type === 'change-membership') node.pendingChanges.add(event.ticket);
    if (event.type !== 'propose') return;
    for (const command of event.commands) {
      const text = decode(command);
      if (this.proposals.has(text)) throw new Error(`"${text}" is proposed twice`);
      const { incarnation } = node;
      this.proposals.set(text, { server: node.id, incarnation, term: node.core.status.term, rejected: undefined });
    }
  }

  /** Linearizability: what was committed anywhere before the read was asked is at or below the index that it got. */
  endRead(node: Node, ticket: number, outcome: LogIndex | string): void {
    const committedBefore = node.pendingReads.get(ticket);
    if (committedBefore === undefined) throw new BrokenPromise(`read ${ticket} has a second outcome`);
    if (typeof outcome === 'number' && outcome < committedBefore) {
      throw new BrokenPromise(`a read got ${outcome} when ${committedBefore} was committed before it`);
    }
    node.pendingReads.delete(ticket);
    node.reads.set(ticket, outcome);
  }

  reject(command: Uint8Array, reason: string): void {
    const proposal = this.proposals.get(decode(command));
    if (proposal === undefined || proposal.rejected !== undefined) throw new BrokenPromise('rejected twice');
    proposal.rejected = reason;
  }

  /** In a cluster that serves again and is at rest, nothing waits any more. */
  check(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.pendingReads.size > 0) throw new BrokenPromise(`reads of server ${node.id} have no outcome`);
      if (node.transferPending) throw new BrokenPromise(`a transfer of server ${node.id} has no outcome`);
      if (node.pendingChanges.size > 0) throw new BrokenPromise(`a change at server ${node.id} has no outcome`);
    }
    const committed = new Set(this.#committed.map(({ data }) => decode(data)));
    const commands = this.#committed.filter(({ type }) => type === EntryType.command);
    if (commands.length !== new Set(commands.map(({ data }) => decode(data))).size) {
      throw new BrokenPromise('a command is committed twice');
    }
    for (const [text, { server, incarnation, term: asked, rejected }] of this.proposals) {
      if (rejected !== undefined && committed.has(text))
        throw new BrokenPromise(`"${text}" was rejected and committed`);
      if (rejected !== undefined || committed.has(text)) continue;
      const node = nodes[server - 1];
      if (node === undefined) throw new Error(`no server ${server}`);
      const { role, term: present } = node.core.status;
      const leadershipLost = node.incarnation !== incarnation || present > asked || role !== 'leader';
      if (!leadershipLost) throw new BrokenPromise(`"${text}" has no outcome`);
    }
  }

  endTransfer(node: Node, outcome: string): void {
    if (!node.transferPending) throw new BrokenPromise('a transfer has a second outcome');
    node.transferPending = false;
    node.transferOutcomes.push(outcome);
  }

  endChange(node: Node, { ticket, outcome }: Extract<Effect, { type: 'membership-ended' }>): void {
    if (!node.pendingChanges.delete(ticket)) throw new BrokenPromise('a change has a second outcome');
    this.changes.set(ticket, outcome);
  }
}

function decode(data: Uint8Array): string {
  return new TextDecoder().decode(data);
}
