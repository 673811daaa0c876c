/**
 * This server's connections with all its peers: one to each on which it speaks, one from each on which it listens. Frames leave
 * when they are flushed: everything that was said to a peer in a turn goes together. Peers come and go with the configuration; a
 * non-member peer, which has proved that it belongs to the ensemble and is no member as far as this server knows, is answered for as
 * long as it is heard. No other address is ever dialled.
 */

import { NO_FEATURES, hasFeature, type Packable } from '@holdfast/protocol';
import {
  RefusalLog,
  type Address,
  type Clock,
  type Connection,
  type ConnectionHandler,
  type Listener,
  type Logger,
  type Network,
  type Random,
  type Timer,
} from '@holdfast/runtime';
import {
  memberOf,
  voterSets,
  type ConfiguredMember,
  type Entry,
  type MemberFacts,
  type Message,
  type ServerId,
} from '../core/index.ts';
import type { PeerInfo } from '../machine.ts';
import type { ExpulsionVoice } from './expulsion-tally.ts';
import { ExpulsionNotices } from './expulsion-notices.ts';
import { DialledGreeting, type OwnHello } from './greeting.ts';
import { NONCE_BYTES, PEER_PROTOCOL_VERSION, type PeerHello, type PeerPurpose } from './greeting-codec.ts';
import type { LinkTiming } from './link-watch.ts';
import {
  admission,
  incarnationOf,
  isMember,
  ownSecrets,
  secretOf,
  type MembershipView,
  type OwnSecrets,
  type Verdict,
} from './peer-admission.ts';
import { peerItem } from './peer-codec.ts';
import { PEER_FEATURES, PeerFeature } from './peer-features.ts';
import { PeerLink } from './peer-link.ts';
import { PeerListener } from './peer-listener.ts';

export interface PeerMeshOptions {
  readonly id: ServerId;
  readonly clusterId: string;
  readonly incarnation: string;
  /** By which those who take it in are known to a server that is no member yet, beside its incarnation. @default none */
  joinSecrets?(): readonly string[];
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
  unreachable(peer: ServerId): void;
  frame(from: ServerId, connection: Connection, frame: Uint8Array): void;
  /** It wants to send a snapshot on that connection. */
  snapshot(from: ServerId, connection: Connection): ConnectionHandler;
  /** What it said may be lost. */
  inboundClosed(peer: ServerId): void;
  /** The handshake with a peer is done: it has said who it is. */
  handshakeDone(): void;
  /** A member has dialled this server and says that it has no place in the ensemble any more. */
  expelled(voice: ExpulsionVoice): void;
  /** Whoever is at a peer's address says that it does not know this server: that proves nothing. */
  notAdmitted(peer: ServerId, reason: string): void;
}

export interface PeerMeshWorld {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

export class PeerMesh {
  readonly #options: PeerMeshOptions;
  readonly #timing: LinkTiming;
  readonly #events: PeerMeshEvents;
  readonly #world: PeerMeshWorld;
  readonly #links = new Map<ServerId, PeerLink>();
  readonly #peerListener: PeerListener;
  readonly #notices: ExpulsionNotices;
  /** Of all links: whoever is at the peers' addresses fills no log. */
  readonly #refusals: RefusalLog;
  readonly #nonMembers = new Set<ServerId>();
  #view: MembershipView;
  #started = false;
  #look: Timer | undefined;
  #silences = 0;
  #listener: Listener | undefined;
  #lastAppend: { readonly entries: readonly Entry[]; readonly item: Packable } | undefined;

  constructor(
    options: PeerMeshOptions,
    timing: LinkTiming,
    view: MembershipView,
    events: PeerMeshEvents,
    world: PeerMeshWorld,
  ) {
    this.#options = options;
    this.#timing = timing;
    this.#view = view;
    this.#events = events;
    this.#world = world;
    this.#refusals = new RefusalLog('a connection to a peer came to nothing', world);
    const { clusterId, id, incarnation } = options;
    const secrets = (): OwnSecrets => this.#secrets();
    this.#peerListener = new PeerListener(
      {
        clusterId,
        id,
        timing,
        secrets,
        secretOf: (peer) => this.#secretOf(peer),
        incarnationOf: (peer) => this.#formerIncarnation(peer) || incarnationOf(this.#view, peer),
        admission: (candidate) =>
          admission(
            {
              view: this.#view,
              own: id,
              nonMembers: this.#nonMembers,
              confirms: (peer, shown) => this.#links.get(peer)?.confirms(shown),
              echoes: (peer, nonce) => isSame(this.#links.get(peer)?.nonce, nonce),
            },
            candidate,
          ),
      },
      {
        accepted: (peer, peerAddress) => this.#onAccepted(peer, peerAddress),
        frame: (from, connection, frame) => events.frame(from, connection, frame),
        snapshot: (from, connection) => events.snapshot(from, connection),
        closed: (peer) => this.#onUnheard(peer),
        waits: (peer) => this.#links.get(peer)?.dial(),
        expel: (hello, refusal) => this.#onExpel(hello, refusal),
        expelled: (voice) => events.expelled(voice),
      },
      world,
    );
    this.#notices = new ExpulsionNotices(
      {
        incarnation,
        secrets,
        hello: (to) => this.#hello(to, 'expulsion'),
        voterSets: () => voterSets(this.#view.committed),
      },
      world,
    );
  }

  /** `members`: whom to speak to; this server may be among them. */
  update(view: MembershipView, members: readonly ConfiguredMember[]): void {
    this.#view = view;
    for (const { id, peerAddress } of members) {
      if (id === this.#options.id) continue;
      this.#nonMembers.delete(id);
      // A non-member may have named another address than the configuration has.
      if (this.#links.get(id)?.address !== peerAddress) this.#removeLink(id);
      if (!this.#links.has(id)) this.#addLink(id, peerAddress);
    }
    const wanted = new Set(members.map(({ id }) => id));
    for (const id of this.#links.keys()) if (!wanted.has(id) && !this.#nonMembers.has(id)) this.#removeLink(id);
    this.#peerListener.admitAgain();
  }

  /**
   * Whether no member, `except` one, would take a configuration entry for garbage, as the first release does. One that was not heard
   * since this server started is known by what the configuration has recorded of it. A learner or observer that nobody ever heard came
   * by such an entry and must read that one too, so it hinders nobody: it may never be started.
   */
  allTakeConfigurations(except?: ServerId): boolean {
    return this.#view.latest.configuration.members.every(({ id, incarnation, role }) => {
      if (id === this.#options.id || id === except) return true;
      if (hasFeature(this.#peerListener.features(id), PeerFeature.membership)) return true;
      return !this.#peerListener.met(id) && (incarnation !== '' || role === 'learner' || role === 'observer');
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
      clientAddress:
        member.id === own ? clientAddress : this.#peerListener.clientAddress(member.id) || member.clientAddress,
      features: member.id === own ? PEER_FEATURES : this.#peerListener.features(member.id),
      connected: member.id === own || (this.#links.get(member.id)?.connected ?? false),
      role: member.role,
    }));
  }

  /** Connections that were closed because nothing was heard on them any more. */
  get silences(): number {
    return this.#silences;
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
    this.#listener = await this.#world.network.listen(this.#peerListener.listenOptions(this.#options.peerListen));
    this.#started = true;
    for (const link of this.#links.values()) link.dial();
    this.#lookLater();
  }

  /** Says nothing more, and is deaf once the listener is closed. */
  stopSpeaking(): void {
    this.#notices.stop();
    this.#look?.cancel();
    for (const link of this.#links.values()) link.stop();
    this.#refusals.stop();
  }

  async stopListening(): Promise<void> {
    await this.#listener?.close();
    this.#peerListener.stop();
  }

  send(to: ServerId, message: Message): void {
    this.#links.get(to)?.queueOrClose(this.#item(message));
  }

  /** False when there is no connection, or it is full. */
  sendPayload(to: ServerId, payload: Uint8Array): boolean {
    return this.#links.get(to)?.queue(peerItem({ type: 'machine', payload })) ?? false;
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
    if (message.type !== 'append' || message.entries.length === 0) return peerItem(message);
    if (this.#lastAppend?.entries !== message.entries) {
      this.#lastAppend = { entries: message.entries, item: peerItem(message) };
    }
    return this.#lastAppend.item;
  }

  /** How to reach a peer for a snapshot, beside the connection for everything else; undefined for one that knows none, or is not heard yet. */
  routeTo(
    peer: ServerId,
  ): { readonly address: Address; readonly peer: ServerId; readonly greeting: () => DialledGreeting } | undefined {
    const member = memberOf(this.#view.latest.configuration, peer);
    // An older server would take such a connection for the ordinary one.
    if (!hasFeature(this.#peerListener.features(peer), PeerFeature.snapshot)) return undefined;
    return member && { address: member.peerAddress, peer, greeting: () => this.#greeting(peer, 'snapshot') };
  }

  /** A removed server knocks at another member's door, which has asked this one to notify it, too. */
  knocked(server: ServerId): void {
    if (this.#view.committed.retired.includes(server)) this.#notifyRemoved(server);
  }

  #secrets(): OwnSecrets {
    const { id, incarnation } = this.#options;
    return ownSecrets(this.#view, id, incarnation, () => this.#options.joinSecrets?.() ?? []);
  }

  #secretOf(peer: ServerId): string {
    return this.#formerIncarnation(peer) || secretOf(this.#view, peer);
  }

  /** Of a server that was removed; empty for others, and where it is not known any more. */
  #formerIncarnation(peer: ServerId): string {
    return this.#view.committed.former.find(({ id }) => id === peer)?.incarnation ?? '';
  }

  #onExpel({ from, nonce }: PeerHello, { expulsion, proved = false }: Extract<Verdict, { type: 'refused' }>): void {
    if (expulsion === 'MEMBER_REMOVED') {
      this.#notifyRemoved(from, nonce);
      const knock = { type: 'knock', server: from } as const;
      if (proved) for (const link of this.#links.values()) link.queue(peerItem(knock));
      this.flush();
      return;
    }
    const member = memberOf(this.#view.latest.configuration, from) ?? memberOf(this.#view.committed, from);
    if (member === undefined) return;
    const incarnation = incarnationOf(this.#view, from);
    this.#notices.notify({
      id: from,
      address: member.peerAddress,
      incarnation,
      expulsion: 'WRONG_INCARNATION',
      echo: nonce,
    });
  }

  #notifyRemoved(server: ServerId, echo?: Uint8Array): void {
    const former = this.#view.committed.former.find(({ id }) => id === server);
    if (former === undefined) return;
    const { peerAddress: address, incarnation } = former;
    const notice = { id: server, address, incarnation, expulsion: 'MEMBER_REMOVED' } as const;
    this.#notices.notify(echo === undefined ? notice : { ...notice, echo });
  }

  #factsOf(id: ServerId): MemberFacts {
    const { id: own, incarnation, clientAddress } = this.#options;
    if (id === own) return { id, incarnation, clientAddress };
    return { id, incarnation: this.#peerListener.incarnation(id), clientAddress: this.#peerListener.clientAddress(id) };
  }

  #onAccepted(peer: ServerId, peerAddress: Address): void {
    if (this.#links.has(peer)) {
      // It lives: no reason to wait for the next attempt.
      this.#links.get(peer)?.dial();
    } else if (!isMember(this.#view, peer)) {
      this.#nonMembers.add(peer);
      this.#addLink(peer, peerAddress);
    }
    this.#events.handshakeDone();
  }

  #onUnheard(peer: ServerId): void {
    if (this.#nonMembers.delete(peer)) this.#removeLink(peer);
    else this.#links.get(peer)?.dial();
    this.#events.inboundClosed(peer);
  }

  #lookLater(): void {
    this.#look = this.#world.clock.setTimer(this.#timing.lookMs, () => {
      this.#silences += this.#peerListener.look();
      for (const link of this.#links.values()) if (!link.look()) this.#silences += 1;
      this.#lookLater();
    });
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
  #hello(to: ServerId, purpose: PeerPurpose): OwnHello {
    const { clusterId, id, clientAddress, peerAddress } = this.#options;
    const { configuration } = this.#view.latest;
    return {
      version: PEER_PROTOCOL_VERSION,
      features: PEER_FEATURES,
      clusterId,
      from: id,
      to,
      clientAddress,
      purpose,
      required: NO_FEATURES,
      peerAddress: peerAddress ?? memberOf(configuration, id)?.peerAddress ?? this.address,
    };
  }

  #greeting(to: ServerId, purpose: PeerPurpose): DialledGreeting {
    return new DialledGreeting({
      hello: this.#hello(to, purpose),
      nonce: this.#world.random.bytes(NONCE_BYTES),
      incarnation: this.#options.incarnation,
      secrets: this.#secrets(),
      peer: { secret: secretOf(this.#view, to), member: isMember(this.#view, to) },
    });
  }

  #createLink(id: ServerId, address: Address): PeerLink {
    const events = {
      shown: () => this.#peerListener.shown(id),
      connected: () => this.#events.connected(id),
      disconnected: () => this.#events.disconnected(id),
      refused: () => {
        // While it can be heard it lives, whatever its address answers (a wrong one, say, or a firewall).
        if (!this.#peerListener.hears(id)) this.#events.unreachable(id);
      },
      notAdmitted: (reason: string) => this.#events.notAdmitted(id, reason),
    };
    const newGreeting = (): DialledGreeting => this.#greeting(id, 'log');
    const world = { ...this.#world, refusals: this.#refusals };
    return new PeerLink({ peer: id, address, timing: this.#timing, newGreeting }, events, world);
  }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a?.length === b.length && a.every((byte, n) => byte === b[n]);
}
