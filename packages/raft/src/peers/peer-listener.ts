/**
 * The ear for peers: accepts connections, checks each one's hello, and hands on what a peer says. A newer connection of the same
 * peer replaces the older one; one from another data directory under its number does not, as long as the peer is connected.
 */

import { NO_FEATURES, commonFeatures, describeFeatures, missingFeatures, type FeatureSet } from '@holdfast/protocol';
import type { Address, Clock, Connection, ConnectionHandler, ListenOptions, Logger } from '@holdfast/runtime';
import type { ServerId } from '../core/index.ts';
import { MAX_PEER_FRAME_BYTES, PEER_PROTOCOL_VERSION, decodeHello, type PeerHello } from './peer-codec.ts';
import { PEER_FEATURES } from './peer-features.ts';

const HELLO_TIMEOUT_MS = 5_000;

export interface PeerListenerEvents {
  accepted(peer: ServerId, peerAddress: Address): void;
  frame(from: ServerId, connection: Connection, frame: Uint8Array): void;
  /** The peer wants to send a snapshot; who hears what it says on that connection, and its end. */
  snapshot(from: ServerId, connection: Connection): ConnectionHandler;
  /** The connection on which the peer was heard has closed or was replaced. */
  closed(peer: ServerId): void;
}

interface Heard {
  readonly connection: Connection;
  readonly hello: PeerHello;
}

export interface ListenerIdentity {
  readonly clusterId: string;
  readonly id: ServerId;
  /** Why the sender is not heard, be it of this cluster; undefined when it may be. */
  admission(hello: PeerHello): string | undefined;
}

export class PeerListener {
  readonly #own: ListenerIdentity;
  readonly #events: PeerListenerEvents;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #heard = new Map<ServerId, Heard>();
  readonly #clientAddresses = new Map<ServerId, Address>();
  readonly #features = new Map<ServerId, FeatureSet>();

  constructor(
    own: ListenerIdentity,
    events: PeerListenerEvents,
    world: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#own = own;
    this.#events = events;
    this.#clock = world.clock;
    this.#logger = world.logger;
  }

  /** Empty until the peer has said hello once. */
  clientAddress(peer: ServerId): Address {
    return this.#clientAddresses.get(peer) ?? '';
  }

  /** Whether the peer has said hello since this server started. */
  met(peer: ServerId): boolean {
    return this.#features.has(peer);
  }

  /** What the peer's last hello offered and this server knows; none before the first. */
  features(peer: ServerId): FeatureSet {
    return this.#features.get(peer) ?? NO_FEATURES;
  }

  /** Whether the peer has a connection here on which it could be heard. */
  hears(peer: ServerId): boolean {
    return this.#heard.has(peer);
  }

  /** Of its data directory; empty until the peer has said hello once. */
  incarnation(peer: ServerId): string {
    return this.#heard.get(peer)?.hello.incarnation ?? '';
  }

  /** After a change of who is admitted: those who are not any more lose their connection, and are told why. */
  admitAgain(): void {
    for (const { connection, hello } of this.#heard.values()) {
      const refusal = this.#own.admission(hello);
      if (refusal !== undefined) this.#refuse(connection, refusal, { peer: hello.from });
    }
  }

  listenOptions(address: Address): ListenOptions {
    return {
      address,
      maxFrameBytes: MAX_PEER_FRAME_BYTES,
      onConnection: (connection) => this.#onConnection(connection),
    };
  }

  #onConnection(connection: Connection): void {
    let peer: ServerId | undefined;
    let snapshot: ConnectionHandler | undefined;
    const helloTimer = this.#clock.setTimer(HELLO_TIMEOUT_MS, () => connection.close('no hello'));
    connection.setHandler({
      frame: (bytes) => {
        if (snapshot !== undefined) {
          snapshot.frame(bytes);
          return;
        }
        if (peer !== undefined) {
          this.#events.frame(peer, connection, bytes);
          return;
        }
        helloTimer.cancel();
        const hello = this.#acceptHello(connection, bytes);
        if (hello?.purpose === 'snapshot') snapshot = this.#events.snapshot(hello.from, connection);
        else if (hello !== undefined) peer = this.#introduce(connection, hello);
      },
      close: (reason) => {
        snapshot?.close(reason);
        helloTimer.cancel();
        if (peer === undefined || this.#heard.get(peer)?.connection !== connection) return;
        this.#heard.delete(peer);
        this.#events.closed(peer);
      },
    });
  }

  #acceptHello(connection: Connection, frame: Uint8Array): PeerHello | undefined {
    let hello: PeerHello;
    try {
      hello = decodeHello(frame);
    } catch (error) {
      this.#refuse(connection, 'malformed hello', { err: error });
      return undefined;
    }
    const problem = this.#problem(hello);
    if (problem !== undefined) {
      this.#refuse(connection, problem, { peer: hello.from });
      return undefined;
    }
    return hello;
  }

  #introduce(connection: Connection, hello: PeerHello): ServerId {
    const older = this.#heard.get(hello.from)?.connection;
    this.#heard.set(hello.from, { connection, hello });
    this.#clientAddresses.set(hello.from, hello.clientAddress);
    this.#features.set(hello.from, commonFeatures(hello.features, PEER_FEATURES));
    if (older !== undefined) {
      older.destroy();
      this.#events.closed(hello.from);
    }
    this.#events.accepted(hello.from, hello.peerAddress);
    return hello.from;
  }

  #problem(hello: PeerHello): string | undefined {
    if (hello.version !== PEER_PROTOCOL_VERSION) {
      return `peer protocol ${hello.version} is not ${PEER_PROTOCOL_VERSION}: run the same version everywhere`;
    }
    const unknown = missingFeatures(hello.required, PEER_FEATURES);
    if (unknown !== NO_FEATURES) {
      return `it demands features that this server does not know (${describeFeatures(unknown)}): upgrade this server`;
    }
    if (hello.clusterId !== this.#own.clusterId) return `cluster "${hello.clusterId}" is not "${this.#own.clusterId}"`;
    if (hello.to !== this.#own.id) return `server ${hello.to} was meant, this is ${this.#own.id}: check --cluster`;
    const refusal = this.#own.admission(hello);
    if (refusal !== undefined) return refusal;
    const heard = this.#heard.get(hello.from);
    return heard === undefined || heard.hello.incarnation === hello.incarnation
      ? undefined
      : `server ${hello.from} is connected from another data directory: two use that --id; stop the one that is not it`;
  }

  #refuse(connection: Connection, problem: string, fields: object): void {
    this.#logger.warn({ ...fields, remoteAddress: connection.remoteAddress, problem }, 'refused a peer connection');
    connection.close(problem);
  }
}
