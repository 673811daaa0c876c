/** What a leader has under way to its followers, and how far each has acknowledged, as the leader's own events and messages tell. */

import { entryBytes, type Message, type ServerId } from '../../src/core/index.ts';
import type { ReplicaObserver } from '../../src/observer.ts';

interface Peer {
  /** Sent and not acknowledged, in order. */
  underWay: { readonly lastIndex: number; readonly bytes: number }[];
  acknowledged: number;
  heartbeatsAtMs: number[];
}

export class AppendWatch implements Partial<ReplicaObserver> {
  mostMessages = 0;
  mostBytes = 0;
  readonly #peers = new Map<number, Peer>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  acknowledgedBy(peer: number): number {
    return this.#peer(peer).acknowledged;
  }

  /** The longest time between two heartbeats to the peer since `fromMs`. */
  longestSilenceMs(peer: number, fromMs: number): number {
    const times = [fromMs, ...this.#peer(peer).heartbeatsAtMs.filter((atMs) => atMs > fromMs), this.#nowMs()];
    return Math.max(...times.map((atMs, n) => atMs - (times[n - 1] ?? atMs)));
  }

  sending(to: ServerId, message: Message): void {
    const peer = this.#peer(to);
    if (message.type === 'heartbeat') peer.heartbeatsAtMs.push(this.#nowMs());
    if (message.type !== 'append' || message.entries.length === 0) return;
    let bytes = 0;
    for (const entry of message.entries) bytes += entryBytes(entry);
    // What is sent again takes the place of what it repeats.
    peer.underWay = peer.underWay.filter(({ lastIndex }) => lastIndex <= message.prevIndex);
    peer.underWay.push({ lastIndex: message.prevIndex + message.entries.length, bytes });
    this.mostMessages = Math.max(this.mostMessages, peer.underWay.length);
    this.mostBytes = Math.max(
      this.mostBytes,
      peer.underWay.reduce((sum, each) => sum + each.bytes, 0),
    );
  }

  stepping: ReplicaObserver['stepping'] = (events) => {
    for (const event of events) {
      if (event.type === 'peer-connected' || event.type === 'peer-disconnected') this.#peer(event.peer).underWay = [];
      if (event.type !== 'message' || event.message.type !== 'append-response' || !event.message.accepted) continue;
      const peer = this.#peer(event.from);
      const { index } = event.message;
      peer.acknowledged = Math.max(peer.acknowledged, index);
      peer.underWay = peer.underWay.filter(({ lastIndex }) => lastIndex > index);
    }
  };

  #peer(id: number): Peer {
    const known = this.#peers.get(id);
    if (known !== undefined) return known;
    const peer = { underWay: [], acknowledged: 0, heartbeatsAtMs: [] };
    this.#peers.set(id, peer);
    return peer;
  }
}
