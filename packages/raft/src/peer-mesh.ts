/**
 * This server's connections with all its peers: one to each on which it speaks, one from each on which it listens. Frames leave
 * when they are flushed: everything that was said to a peer in a turn goes together.
 */

import { NO_FEATURES, hasFeature, type Packable } from '@holdfast/protocol';
import type {
  Address,
  Clock,
  Connection,
  ConnectionHandler,
  Listener,
  Logger,
  Network,
  Random,
} from '@holdfast/runtime';
import type { Entry, Message, ServerId } from './core/index.ts';
import type { PeerInfo } from './machine.ts';
import { PEER_PROTOCOL_VERSION, machineItem, raftItem, type PeerHello, type PeerPurpose } from './peer-codec.ts';
import { PEER_FEATURES, PeerFeature } from './peer-features.ts';
import { PeerLink } from './peer-link.ts';
import { PeerListener } from './peer-listener.ts';

export interface PeerMeshOptions {
  readonly id: ServerId;
  readonly clusterId: string;
  readonly incarnation: string;
  readonly members: readonly { readonly id: ServerId; readonly peerAddress: Address }[];
  readonly peerListen: Address;
  readonly clientAddress: Address;
}

export interface PeerMeshEvents {
  /** The peer can be spoken to. */
  connected(peer: ServerId): void;
  /** What was said to it may be lost. */
  disconnected(peer: ServerId): void;
  /** Nothing listens at its address, and it is not heard: its process is gone. */
  gone(peer: ServerId): void;
  frame(from: ServerId, connection: Connection, frame: Uint8Array): void;
  /** It wants to send a snapshot on that connection. */
  snapshot(from: ServerId, connection: Connection): ConnectionHandler;
  /** What it said may be lost. */
  unheard(peer: ServerId): void;
  /** A peer has introduced itself. */
  introduced(): void;
}

export interface PeerMeshWorld {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

export class PeerMesh {
  readonly #options: PeerMeshOptions;
  readonly #events: PeerMeshEvents;
  readonly #world: PeerMeshWorld;
  readonly #links = new Map<ServerId, PeerLink>();
  readonly #ear: PeerListener;
  #listener: Listener | undefined;
  #lastAppend: { readonly entries: readonly Entry[]; readonly item: Packable } | undefined;

  constructor(options: PeerMeshOptions, events: PeerMeshEvents, world: PeerMeshWorld) {
    this.#options = options;
    this.#events = events;
    this.#world = world;
    for (const { id, peerAddress } of options.members) {
      if (id !== options.id) this.#links.set(id, this.#createLink(id, peerAddress));
    }
    this.#ear = new PeerListener(
      { clusterId: options.clusterId, id: options.id, peers: new Set(this.#links.keys()) },
      {
        accepted: (peer) => {
          // It lives: no reason to wait for the next attempt.
          this.#links.get(peer)?.dial();
          events.introduced();
        },
        frame: (from, connection, frame) => events.frame(from, connection, frame),
        snapshot: (from, connection) => events.snapshot(from, connection),
        closed: (peer) => {
          this.#links.get(peer)?.dial();
          events.unheard(peer);
        },
      },
      world,
    );
  }

  get peers(): readonly PeerInfo[] {
    const { id: own, members, clientAddress } = this.#options;
    return members.map(({ id, peerAddress }) => ({
      id,
      peerAddress,
      clientAddress: id === own ? clientAddress : this.#ear.clientAddress(id),
      features: id === own ? PEER_FEATURES : this.#ear.features(id),
      connected: id === own || (this.#links.get(id)?.connected ?? false),
    }));
  }

  /** Where peers reach this server, with the real port; empty before start. */
  get address(): Address {
    return this.#listener?.address ?? '';
  }

  /** Whether there is anybody else. */
  get empty(): boolean {
    return this.#links.size === 0;
  }

  /** @throws ListenError */
  async start(): Promise<void> {
    this.#listener = await this.#world.network.listen(this.#ear.listenOptions(this.#options.peerListen));
    for (const link of this.#links.values()) link.dial();
  }

  /** Says nothing more, and is deaf once the listener is closed. */
  stopSpeaking(): void {
    for (const link of this.#links.values()) link.stop();
  }

  async stopListening(): Promise<void> {
    await this.#listener?.close();
  }

  send(to: ServerId, message: Message): void {
    this.#links.get(to)?.queueOrClose(this.#item(message));
  }

  /** False when there is no connection, or it is full. */
  sendPayload(to: ServerId, payload: Uint8Array): boolean {
    return this.#links.get(to)?.queue(machineItem(payload)) ?? false;
  }

  flush(): void {
    for (const link of this.#links.values()) link.flush();
  }

  /** The turn is over: entries that were encoded for several peers are not needed again. */
  endTurn(): void {
    this.flush();
    this.#lastAppend = undefined;
  }

  /** The core gives peers that are equally far the same array of entries: encoded once. */
  #item(message: Message): Packable {
    if (message.type !== 'append' || message.entries.length === 0) return raftItem(message);
    if (this.#lastAppend?.entries !== message.entries) {
      this.#lastAppend = { entries: message.entries, item: raftItem(message) };
    }
    return this.#lastAppend.item;
  }

  /** How to reach a peer for a snapshot, beside the connection for everything else; undefined for one that knows none, or is not heard yet. */
  routeTo(peer: ServerId): { readonly address: Address; readonly hello: PeerHello } | undefined {
    const member = this.#options.members.find(({ id }) => id === peer);
    // An older server would take such a connection for the ordinary one.
    if (!hasFeature(this.#ear.features(peer), PeerFeature.snapshot)) return undefined;
    return member && { address: member.peerAddress, hello: this.#hello(peer, 'snapshot') };
  }

  #hello(to: ServerId, purpose: PeerPurpose): PeerHello {
    const { clusterId, id: from, incarnation, clientAddress } = this.#options;
    return {
      version: PEER_PROTOCOL_VERSION,
      features: PEER_FEATURES,
      clusterId,
      from,
      to,
      incarnation,
      clientAddress,
      purpose,
      required: NO_FEATURES,
    };
  }

  #createLink(id: ServerId, address: Address): PeerLink {
    const hello = this.#hello(id, 'log');
    const events = {
      connected: () => this.#events.connected(id),
      disconnected: () => this.#events.disconnected(id),
      refused: () => {
        // While it can be heard it lives, whatever its address answers (a wrong one, say, or a firewall).
        if (!this.#ear.hears(id)) this.#events.gone(id);
      },
    };
    return new PeerLink(address, hello, events, this.#world);
  }
}
