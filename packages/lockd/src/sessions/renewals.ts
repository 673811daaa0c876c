/**
 * Heartbeats of sessions. The leader counts a session's time from when it receives the renewal, and a renewal is acknowledged
 * only after a quorum round that began after that has confirmed its leadership: a deposed leader acknowledges nothing. Followers
 * pass renewals on, one message a turn. What is not acknowledged is simply dropped; the client sends its next heartbeat.
 */

import type { ReplicaHandle, ReplicaStatus, ServerId } from '@holdfast/raft';
import type { SessionClient } from '../port/session-client.ts';
import type { ServerCounters } from '../counters.ts';
import { MAX_UNANSWERED_HEARTBEATS } from '../limits.ts';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';
import type { SessionLeases } from './session-leases.ts';

export interface RenewalsDeps {
  readonly serverId: ServerId;
  readonly counters: ServerCounters;
  readonly correlations: CorrelationIds;
  readonly peers: PeerOutbox;
  readonly leases: SessionLeases;
  /** Up to where the watches of the client were told; undefined where it has none. */
  told(client: SessionClient): number | undefined;
  handle(): ReplicaHandle;
  wake(): void;
}

interface Heartbeat {
  readonly client: SessionClient;
  readonly session: number;
  readonly id: number;
}

interface PeerKeepAlive {
  readonly from: ServerId;
  readonly batch: number;
  readonly sessions: readonly number[];
}

export class Renewals implements ServerPart {
  readonly memberMessages: PeerHandlers = {
    'keep-alive': (from, { batch, sessions }) => this.#keptAlive(from, batch, sessions),
  };
  readonly peerMessages: PeerHandlers = {
    'keep-alive-ack': (_from, { batch, except }) => this.#acknowledged(batch, except),
  };
  readonly #deps: RenewalsDeps;
  #status: ReplicaStatus | undefined;
  /** Of this turn; while this server leads without being ready, of all turns since. */
  #heartbeats: Heartbeat[] = [];
  #keepAlives: PeerKeepAlive[] = [];
  /** With the leader. */
  readonly #sent = new Map<number, readonly Heartbeat[]>();

  constructor(deps: RenewalsDeps) {
    this.#deps = deps;
  }

  heartbeat(client: SessionClient, id: number): void {
    this.#deps.counters.heartbeatsReceived += 1;
    if (client.session === 0 || client.unansweredHeartbeats >= MAX_UNANSWERED_HEARTBEATS) return;
    client.unansweredHeartbeats += 1;
    // The deadline moves at receipt, whatever becomes of the acknowledgement: later is always safe.
    this.#deps.leases.renew(client.session);
    this.#heartbeats.push({ client, session: client.session, id });
    this.#deps.wake();
  }

  /** A follower's heartbeats of a turn. */
  #keptAlive(from: ServerId, batch: number, sessions: readonly number[]): void {
    if (!this.#leads) return;
    for (const session of sessions) this.#deps.leases.renew(session);
    this.#keepAlives.push({ from, batch, sessions });
    this.#deps.wake();
  }

  /** The leader acknowledges a batch. */
  #acknowledged(batch: number, except: readonly number[]): void {
    const heartbeats = this.#sent.get(batch);
    if (heartbeats === undefined) return;
    this.#sent.delete(batch);
    this.#acknowledge(heartbeats, new Set(except));
  }

  statusChanged(status: ReplicaStatus): void {
    const changed = status.leader !== this.#status?.leader || status.term !== this.#status.term;
    this.#status = status;
    if (changed) this.#dropAll();
    if (status.ready) this.#deps.wake();
  }

  connectionLost(peer: ServerId): void {
    if (peer === this.#status?.leader) this.#dropAll();
  }

  /** What was sent to the leader, or waits for its confirmation, is not acknowledged any more. */
  #dropAll(): void {
    for (const heartbeats of this.#sent.values()) this.#drop(heartbeats);
    this.#sent.clear();
    this.#drop(this.#heartbeats);
    this.#heartbeats = [];
    this.#keepAlives = [];
  }

  endOfTurn(): void {
    if (this.#heartbeats.length === 0 && this.#keepAlives.length === 0) return;
    if (this.#leads) {
      if (this.#status?.ready === true) this.#confirm();
      return;
    }
    const heartbeats = this.#heartbeats;
    this.#heartbeats = [];
    const leader = this.#status?.leader ?? 0;
    if (leader === 0) {
      this.#drop(heartbeats);
      return;
    }
    const batch = this.#deps.correlations.next();
    this.#sent.set(batch, heartbeats);
    const sessions = heartbeats.map((heartbeat) => heartbeat.session);
    this.#deps.peers.send(leader as ServerId, { type: 'keep-alive', batch, sessions });
  }

  get #leads(): boolean {
    return this.#status?.role === 'leader';
  }

  #confirm(): void {
    const heartbeats = this.#heartbeats;
    const keepAlives = this.#keepAlives;
    this.#heartbeats = [];
    this.#keepAlives = [];
    // Once more: they may have been received before this leader was ready, and an expiry proposed meanwhile decides.
    const refused = new Set<number>();
    const renew = (session: number): void => {
      if (!this.#deps.leases.renew(session)) refused.add(session);
    };
    for (const heartbeat of heartbeats) renew(heartbeat.session);
    for (const keepAlive of keepAlives) keepAlive.sessions.forEach(renew);
    this.#deps.handle().readIndex((result) => {
      if (typeof result !== 'number') {
        this.#drop(heartbeats);
        return;
      }
      this.#acknowledge(heartbeats, refused);
      for (const { from, batch, sessions } of keepAlives) {
        const except = sessions.filter((session) => refused.has(session));
        this.#deps.peers.send(from, { type: 'keep-alive-ack', batch, except });
      }
    });
  }

  #acknowledge(heartbeats: readonly Heartbeat[], except: ReadonlySet<number>): void {
    this.#drop(heartbeats);
    for (const { client, session, id } of heartbeats) {
      if (except.has(session) || client.session !== session) continue;
      this.#deps.counters.heartbeatsAcknowledged += 1;
      const through = this.#deps.told(client);
      client.send(through === undefined ? { type: 'renewed', id } : { type: 'renewed', id, through });
    }
  }

  #drop(heartbeats: readonly Heartbeat[]): void {
    for (const { client } of heartbeats) client.heartbeatAnswered();
  }
}
