/**
 * This server's connections with all its peers: one to each on which it speaks, one from each on which it listens. Frames leave
 * when they are flushed: everything that was said to a peer in a turn goes together. Peers come and go with the configuration; a
 * guest, who speaks and is no member as far as this server knows, is answered for as long as it is heard.
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
import {
  memberOf,
  type ConfiguredMember,
  type Entry,
  type MemberFacts,
  type Message,
  type ServerId,
} from '../core/index.ts';
import type { PeerInfo } from '../machine.ts';
import { admissionProblem, expulsionOf, type Expulsion, type MembershipView } from './peer-admission.ts';
import { PEER_PROTOCOL_VERSION, machineItem, raftItem, type PeerHello, type PeerPurpose } from './peer-codec.ts';
import { PEER_FEATURES, PeerFeature } from './peer-features.ts';
import { PeerLink } from './peer-link.ts';
import { PeerListener } from './peer-listener.ts';

export interface PeerMeshOptions {
  readonly id: ServerId;
  readonly clusterId: string;
  readonly incarnation: string;
  /** The voters that the cluster began with; empty for a server that waits to be added. */
  readonly members: readonly { readonly id: ServerId; readonly peerAddress: Address }[];
  readonly peerListen: Address;
  /** Where peers reach this server. @default its address among `members`, or the listening address */
  readonly peerAddress?: Address | undefined;
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
  /** A member says that this server has no place in the ensemble any more. */
  expelled(expulsion: Expulsion): void;
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
  readonly #guests = new Set<ServerId>();
  #view: MembershipView;
  #started = false;
  #listener: Listener | undefined;
  #lastAppend: { readonly entries: readonly Entry[]; readonly item: Packable } | undefined;

  constructor(options: PeerMeshOptions, view: MembershipView, events: PeerMeshEvents, world: PeerMeshWorld) {
    this.#options = options;
    this.#view = view;
    this.#events = events;
    this.#world = world;
    const { clusterId, id } = options;
    const admission = (hello: PeerHello) => admissionProblem(this.#view, id, hello, this.#guests);
    this.#ear = new PeerListener(
      { clusterId, id, admission },
      {
        accepted: (peer, peerAddress) => this.#onAccepted(peer, peerAddress),
        frame: (from, connection, frame) => events.frame(from, connection, frame),
        snapshot: (from, connection) => events.snapshot(from, connection),
        closed: (peer) => this.#onUnheard(peer),
      },
      world,
    );
  }

  /** `members`: whom to speak to; this server may be among them. */
  update(view: MembershipView, members: readonly ConfiguredMember[]): void {
    this.#view = view;
    for (const { id, peerAddress } of members) {
      if (id === this.#options.id) continue;
      this.#guests.delete(id);
      if (!this.#links.has(id)) this.#addLink(id, peerAddress);
    }
    const wanted = new Set(members.map(({ id }) => id));
    for (const id of this.#links.keys()) if (!wanted.has(id) && !this.#guests.has(id)) this.#removeLink(id);
    this.#ear.admitAgain();
  }

  /**
   * Whether no member, `except` one, would take a configuration entry for garbage, as the first release does. One that was not heard
   * since this server started is known by what the configuration has recorded of it. A learner or observer that nobody ever heard came
   * by such an entry and must read that one too, so it hinders nobody: it may never be started.
   */
  allTakeConfigurations(except?: ServerId): boolean {
    return this.#view.latest.configuration.members.every(({ id, incarnation, role }) => {
      if (id === this.#options.id || id === except) return true;
      if (hasFeature(this.#ear.features(id), PeerFeature.membership)) return true;
      return !this.#ear.met(id) && (incarnation !== '' || role === 'learner' || role === 'observer');
    });
  }

  /** What the members that are heard, and this server, are and the configuration does not say yet. */
  newFacts(): readonly MemberFacts[] {
    const facts: MemberFacts[] = [];
    for (const member of this.#view.latest.configuration.members) {
      const fact = this.#factsOf(member.id);
      if (fact.incarnation === '' || (member.incarnation !== '' && member.incarnation !== fact.incarnation)) continue;
      if (fact.incarnation !== member.incarnation || fact.clientAddress !== member.clientAddress) facts.push(fact);
    }
    return facts;
  }

  get peers(): readonly PeerInfo[] {
    const { id: own, clientAddress } = this.#options;
    return this.#view.latest.configuration.members.map((member) => ({
      id: member.id,
      peerAddress: member.peerAddress,
      clientAddress: member.id === own ? clientAddress : this.#ear.clientAddress(member.id) || member.clientAddress,
      features: member.id === own ? PEER_FEATURES : this.#ear.features(member.id),
      connected: member.id === own || (this.#links.get(member.id)?.connected ?? false),
      role: member.role,
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
    this.#started = true;
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
    const member = memberOf(this.#view.latest.configuration, peer);
    // An older server would take such a connection for the ordinary one.
    if (!hasFeature(this.#ear.features(peer), PeerFeature.snapshot)) return undefined;
    return member && { address: member.peerAddress, hello: this.#hello(peer, 'snapshot') };
  }

  #factsOf(id: ServerId): MemberFacts {
    const { id: own, incarnation, clientAddress } = this.#options;
    if (id === own) return { id, incarnation, clientAddress };
    return { id, incarnation: this.#ear.incarnation(id), clientAddress: this.#ear.clientAddress(id) };
  }

  #onAccepted(peer: ServerId, peerAddress: Address): void {
    if (this.#links.has(peer)) {
      // It lives: no reason to wait for the next attempt.
      this.#links.get(peer)?.dial();
    } else {
      this.#guests.add(peer);
      this.#addLink(peer, peerAddress);
    }
    this.#events.introduced();
  }

  #onUnheard(peer: ServerId): void {
    if (this.#guests.delete(peer)) this.#removeLink(peer);
    else this.#links.get(peer)?.dial();
    this.#events.unheard(peer);
  }

  #addLink(id: ServerId, address: Address): void {
    const link = this.#createLink(id, address);
    this.#links.set(id, link);
    if (this.#started) link.dial();
  }

  #removeLink(id: ServerId): void {
    const link = this.#links.get(id);
    if (link === undefined) return;
    this.#links.delete(id);
    const { connected } = link;
    link.flush();
    link.stop();
    if (connected) this.#events.disconnected(id);
  }

  /** What this server says of itself when it dials. */
  #hello(to: ServerId, purpose: PeerPurpose): PeerHello {
    const { clusterId, id, incarnation, clientAddress, peerAddress } = this.#options;
    const { configuration, index } = this.#view.latest;
    return {
      version: PEER_PROTOCOL_VERSION,
      features: PEER_FEATURES,
      clusterId,
      from: id,
      to,
      incarnation,
      clientAddress,
      purpose,
      required: NO_FEATURES,
      peerAddress: peerAddress ?? memberOf(configuration, id)?.peerAddress ?? this.address,
      configurationIndex: index,
    };
  }

  #createLink(id: ServerId, address: Address): PeerLink {
    const events = {
      connected: () => this.#events.connected(id),
      disconnected: () => this.#events.disconnected(id),
      refused: () => {
        // While it can be heard it lives, whatever its address answers (a wrong one, say, or a firewall).
        if (!this.#ear.hears(id)) this.#events.gone(id);
      },
      closed: (reason: string) => {
        const expulsion = expulsionOf(reason);
        if (expulsion !== undefined) this.#events.expelled(expulsion);
      },
    };
    return new PeerLink(id, address, () => this.#hello(id, 'log'), events, this.#world);
  }
}
