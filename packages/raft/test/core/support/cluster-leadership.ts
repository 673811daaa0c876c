/**
 * What must happen to the leaders of a cluster of bare cores, looked at after each of their steps: one that hears no quorum, or whose
 * disk hangs, leads no longer; a voter that it does not hear does not count for the removal of another. Each within twice the time that
 * the core is given; time is counted in clamped steps, as there.
 */

import { DEFAULT_RAFT_LIMITS, type Configuration, type RaftEvent, type ServerId } from '../../../src/core/index.ts';
import { BrokenPromise } from './broken-promise.ts';
import type { Node } from './core-cluster.ts';

const { heartbeatMs, electionTimeoutMs, diskStallMs } = DEFAULT_RAFT_LIMITS;

const JUDGED_EVERY_MS = 50;

/** What is known of one life of a server. */
interface Watched {
  readonly incarnation: number;
  countedMs: number;
  nowMs: number;
  ledTerm: number;
  ledSinceMs: number;
  readonly heardMs: Map<ServerId, number>;
  persistedSeq: number;
  writeWaitMs: number;
  /** When it was judged last; a look at every step would cost much and tell little more. */
  judgedMs: number;
  /** Of the configuration in force after its last step. */
  configurationIndex: number;
}

export class ClusterLeadership {
  readonly #watched = new Map<ServerId, Watched>();
  /** Leaders that have stepped down since they heard no quorum, or since their disk hung. */
  quorumsLost = 0;
  disksHung = 0;

  /** The events as they arrived, whatever the server is told of them. */
  stepping(node: Node, events: readonly RaftEvent[], nowMs: number): void {
    const known = this.#watched.get(node.id);
    const watched = known?.incarnation === node.incarnation ? known : begin(node, nowMs);
    this.#watched.set(node.id, watched);
    const elapsedMs = Math.min(nowMs - watched.nowMs, heartbeatMs);
    watched.nowMs = nowMs;
    watched.countedMs += elapsedMs;
    const ended = node.persistedSeq > watched.persistedSeq;
    watched.persistedSeq = node.persistedSeq;
    watched.writeWaitMs = ended || node.pendingWrites.length === 0 ? 0 : watched.writeWaitMs + elapsedMs;
    for (const event of events) {
      if (event.type !== 'message') continue;
      const { type, term } = event.message;
      const answers = type === 'append-response' || type === 'heartbeat-response';
      if (answers && term === watched.ledTerm) watched.heardMs.set(event.from, watched.countedMs);
    }
  }

  stepped(node: Node): void {
    const watched = this.#watched.get(node.id);
    if (watched === undefined) return;
    const { role, term, quorumLost, diskStalls } = node.core.status;
    if (role !== 'leader') {
      if (watched.ledTerm > 0 && quorumLost) this.quorumsLost += 1;
      if (watched.ledTerm > 0 && diskStalls) this.disksHung += 1;
      watched.ledTerm = 0;
    } else if (term !== watched.ledTerm) {
      watched.ledTerm = term;
      watched.ledSinceMs = watched.countedMs;
      watched.heardMs.clear();
    }
    const { configuration, index } = node.core.configuration;
    const changed = index > watched.configurationIndex;
    watched.configurationIndex = index;
    if (role !== 'leader' || (!changed && watched.countedMs < watched.judgedMs + JUDGED_EVERY_MS)) return;
    watched.judgedMs = watched.countedMs;
    this.#check(node, watched, configuration, changed);
  }

  #check(node: Node, watched: Watched, { members }: Configuration, changed: boolean): void {
    const coming = members.filter(({ role }) => role === 'voter').map(({ id }) => id);
    const going = members.filter(({ outgoing }) => outgoing).map(({ id }) => id);
    const silentMs = (id: ServerId): number =>
      id === node.id ? 0 : watched.countedMs - Math.max(watched.heardMs.get(id) ?? 0, watched.ledSinceMs);
    const heard = (voters: readonly ServerId[]): boolean =>
      voters.filter((id) => silentMs(id) <= 2 * electionTimeoutMs).length * 2 > voters.length;
    if (changed && coming.length > 0 && coming.length < going.length && !heard(coming)) {
      throw new BrokenPromise(`leader ${node.id} counts silent voters of ${coming.join(', ')} for a removal`);
    }
    const sets = going.length === 0 ? [coming] : [coming, going];
    if (!sets.every(heard)) throw new BrokenPromise(`leader ${node.id} leads on without hearing a quorum`);
    const alone = sets.flat().every((id) => id === node.id);
    if (!alone && watched.writeWaitMs > 2 * diskStallMs) {
      throw new BrokenPromise(`leader ${node.id} leads on with a disk that hangs`);
    }
  }
}

function begin({ incarnation, persistedSeq }: Node, nowMs: number): Watched {
  return {
    incarnation,
    countedMs: 0,
    nowMs,
    ledTerm: 0,
    ledSinceMs: 0,
    heardMs: new Map(),
    persistedSeq,
    writeWaitMs: 0,
    judgedMs: 0,
    configurationIndex: 0,
  };
}
