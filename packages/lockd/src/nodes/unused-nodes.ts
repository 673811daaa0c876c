/**
 * The leader finds the containers that are empty again, and the nodes whose time to live is over, and proposes to remove them, some at a
 * time. When that is, is in its memory alone, on its monotonic clock: a new leader begins with what the state says of each such node. The
 * time at which an office begins is the replicated stamp of that moment, so that an election does not start a time to live anew; from then
 * on wall clocks count for nothing. Whatever is proposed is looked at again where it is applied.
 */

import { CommandType, encodeCommand, MAX_REMOVALS_PER_ENTRY, type UnusedNode } from '@holdfast/protocol';
import type { Entry, ReplicaStatus } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import {
  encodeEntry,
  type EntryHeader,
  type LimitedNode,
  type NodeChangeKind,
  type NodeSlot,
  type Output,
  type StateMachine,
} from '@holdfast/state';
import {
  MAX_REMOVAL_PATH_UNITS,
  UNUSED_LOOK_MS,
  UNUSED_NODES_AT_ONCE,
  UNUSED_PAUSE_MS,
  UNUSED_TICK_MS,
} from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import { TimerWheel } from './timer-wheel.ts';

export interface UnusedNodesDeps {
  readonly clock: Clock;
  readonly state: Pick<StateMachine, 'stamp' | 'limitedNode' | 'withLifetime' | 'pathOf' | 'listen'>;
  /** How long a container is empty before it goes. */
  readonly containerCheckMs: number;
  readonly propose: (entry: Uint8Array) => void;
}

export class UnusedNodes implements ServerPart {
  readonly #deps: UnusedNodesDeps;
  /** The term in which this server leads; 0 while it does not. */
  #term = 0;
  #office: Office | undefined;

  constructor(deps: UnusedNodesDeps) {
    this.#deps = deps;
  }

  statusChanged(status: ReplicaStatus): void {
    const term = status.ready ? status.term : 0;
    if (term === this.#term) return;
    this.stop();
    this.#term = term;
    if (term !== 0) this.#office = new Office(this.#deps);
  }

  reported(_entry: Entry, outputs: readonly Output[]): void {
    if (this.#office !== undefined && outputs.some(({ type }) => type === 'unusedRemoved')) this.#office.decided();
  }

  entryRefused(_entry: Uint8Array, { command }: EntryHeader): boolean {
    if (command !== CommandType.removeUnused) return false;
    this.#office?.decided();
    return true;
  }

  fail(): void {
    this.stop();
  }

  stop(): void {
    this.#term = 0;
    this.#office?.end();
    this.#office = undefined;
  }
}

/** What a leader knows of such nodes, from the begin of its office to its end. */
class Office {
  readonly #deps: UnusedNodesDeps;
  readonly #wheel: TimerWheel<NodeSlot>;
  /** By node with a time to live: when that is over, unless its data change. */
  readonly #ends = new Map<NodeSlot, number>();
  readonly #startMs: number;
  /** Of the state when the office began: the clock that runs on from there is that of all times to live. */
  readonly #startStamp: number;
  readonly #unlisten: () => void;
  /** Until all nodes that were there at the begin have been looked at. */
  #unread: Iterator<NodeSlot> | undefined;
  /** Were proposed, and the entry is not applied. */
  #proposed: NodeSlot[] = [];
  #timer: Timer | undefined;

  constructor(deps: UnusedNodesDeps) {
    const { clock, state } = deps;
    this.#deps = deps;
    this.#startMs = clock.monotonicMs();
    this.#startStamp = state.stamp;
    this.#wheel = new TimerWheel(UNUSED_TICK_MS, this.#startMs);
    this.#unread = state.withLifetime()[Symbol.iterator]();
    this.#unlisten = state.listen((kind, node) => this.#changed(kind, node));
    this.#read();
    this.#schedule(UNUSED_TICK_MS);
  }

  end(): void {
    this.#unlisten();
    this.#timer?.cancel();
  }

  /** The entry was applied, or is in no log: what is still there is looked at again. */
  decided(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const node of this.#proposed) {
      const limited = this.#deps.state.limitedNode(node);
      if (limited !== undefined && isEmpty(limited)) this.#wheel.set(node, this.#endOf(node, limited), nowMs);
    }
    this.#proposed = [];
    this.#schedule(UNUSED_PAUSE_MS);
  }

  #changed(kind: NodeChangeKind, node: NodeSlot): void {
    if (kind === 'deleted') {
      if (this.#wheel.size > 0) this.#wheel.delete(node);
      if (this.#ends.size > 0) this.#ends.delete(node);
      return;
    }
    const limited = this.#deps.state.limitedNode(node);
    if (limited === undefined || kind === 'granted') return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (limited.ttlMs !== undefined && kind !== 'children') this.#ends.set(node, nowMs + limited.ttlMs);
    if (isEmpty(limited)) this.#wheel.set(node, this.#endOf(node, limited), nowMs);
    else this.#wheel.delete(node);
    this.#schedule(UNUSED_TICK_MS);
  }

  /** When a node goes that is empty now. */
  #endOf(node: NodeSlot, { ttlMs, mtime }: LimitedNode): number {
    if (ttlMs === undefined) return this.#deps.clock.monotonicMs() + this.#deps.containerCheckMs;
    const known = this.#ends.get(node);
    if (known !== undefined) return known;
    const end = this.#startMs + mtime + ttlMs - this.#startStamp;
    this.#ends.set(node, end);
    return end;
  }

  /** Some of the nodes that were there at the begin. What has changed since is known already. */
  #read(): void {
    for (let count = 0; count < UNUSED_NODES_AT_ONCE && this.#unread !== undefined; count += 1) {
      const next = this.#unread.next();
      if (next.done === true) {
        this.#unread = undefined;
        return;
      }
      const limited = this.#deps.state.limitedNode(next.value);
      if (limited === undefined) continue;
      const end = this.#endOf(next.value, limited);
      if (isEmpty(limited)) this.#wheel.set(next.value, end, this.#deps.clock.monotonicMs());
    }
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || (this.#wheel.size === 0 && this.#unread === undefined)) return;
    this.#timer = this.#deps.clock.setTimer(this.#unread === undefined ? delayMs : UNUSED_LOOK_MS, () => {
      this.#timer = undefined;
      this.#read();
      this.#propose();
      this.#schedule(UNUSED_TICK_MS);
    });
  }

  #propose(): void {
    const { clock, state, propose } = this.#deps;
    if (this.#proposed.length > 0) return;
    const nowMs = clock.monotonicMs();
    const nodes: UnusedNode[] = [];
    let units = 0;
    for (const node of this.#wheel.take(nowMs, MAX_REMOVALS_PER_ENTRY)) {
      const limited = state.limitedNode(node);
      if (limited === undefined || !isEmpty(limited)) continue;
      const path = state.pathOf(node);
      units += path.length;
      if (units > MAX_REMOVAL_PATH_UNITS && nodes.length > 0) {
        this.#wheel.set(node, nowMs, nowMs);
        continue;
      }
      nodes.push({ path, czxid: limited.czxid, mzxid: limited.ttlMs === undefined ? 0 : limited.mzxid });
      this.#proposed.push(node);
    }
    if (nodes.length === 0) return;
    const header = { command: CommandType.removeUnused, session: 0, generation: 0, number: 0, ackedUpTo: 0 };
    propose(encodeEntry(header, encodeCommand({ type: 'removeUnused', nodes })));
  }
}

/** Nothing is in it, and (a container) something was. */
function isEmpty({ children, ttlMs, everUsed }: LimitedNode): boolean {
  return children === 0 && (ttlMs !== undefined || everUsed);
}
