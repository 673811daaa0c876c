/**
 * The driver: the only asynchronous part of consensus. Everything that arrives is gathered, and once a turn of the event loop, in
 * its check phase, becomes one step of the core, one durable write, one frame to each peer, and then the applies.
 */

import type { Packable } from '@holdfast/protocol';
import type { Address, Clock, Connection, Listener, Logger, Network, Random, Timer } from '@holdfast/runtime';
import {
  DEFAULT_RAFT_LIMITS,
  NO_SERVER,
  RaftCore,
  invariant,
  logIndex,
  minIndex,
  nextIndex,
  previousIndex,
  type Effect,
  type Entry,
  type LogIndex,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type RejectReason,
  type ServerId,
  type WriteSeq,
} from './core/index.ts';
import { DurableWriter } from './durable-writer.ts';
import type { LogStore } from './log-store/log-store.ts';
import type { PeerInfo, ReplicaHandle, ReplicaMachine, ReplicaStatus } from './machine.ts';
import { PeerLink } from './peer-link.ts';
import { PeerListener } from './peer-listener.ts';
import { PEER_PROTOCOL_VERSION, decodePeerFrame, machineItem, raftItem, type PeerHello } from './peer-codec.ts';

/** Applying goes on in the next turn after this long, so that heartbeats and clients are not kept waiting. */
const APPLY_SLICE_MS = 10;
const APPLY_CHUNK_BYTES = 1024 * 1024;
/** How long a stop waits for a successor. */
const TRANSFER_WAIT_MS = 3_000;

export interface ReplicaOptions {
  readonly id: ServerId;
  readonly clusterId: string;
  readonly incarnation: string;
  /** Every voter with the address where its peers reach it, the own one included. */
  readonly members: readonly { readonly id: ServerId; readonly peerAddress: Address }[];
  /** Where to listen for peers. */
  readonly peerListen: Address;
  /** Where clients reach this server; told to the peers. */
  readonly clientAddress: Address;
  readonly tuning?: Partial<Omit<RaftConfig, 'id' | 'voters'>>;
}

export interface ReplicaWorld {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

interface HeldSend {
  readonly to: ServerId;
  readonly message: Message;
  readonly after: WriteSeq;
}

interface InboundFrame {
  readonly from: ServerId;
  readonly connection: Connection;
  readonly frame: Uint8Array;
}

export class Replica implements ReplicaHandle {
  readonly #options: ReplicaOptions;
  readonly #store: LogStore;
  readonly #machine: ReplicaMachine;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #core: RaftCore;
  readonly #writer: DurableWriter;
  readonly #links = new Map<ServerId, PeerLink>();
  readonly #listener: PeerListener;
  readonly #network: Network;

  #status: ReplicaStatus;
  #peerListener: Listener | undefined;
  #running = false;
  #scheduled = false;
  #inTurn = false;
  #timer: Timer | undefined;
  #timerAt = Infinity;

  #events: RaftEvent[] = [];
  #frames: InboundFrame[] = [];
  #proposals: Uint8Array[] = [];
  #disconnected: ServerId[] = [];
  #refused: ServerId[] = [];
  #peersChanged = false;
  #held: HeldSend[] = [];
  #persistedSeq: WriteSeq | undefined;
  #lastAppend: { readonly entries: readonly Entry[]; readonly item: Packable } | undefined;

  #applied: LogIndex = logIndex(0);
  #applyTo: LogIndex = logIndex(0);
  #readingForApply = false;
  #fromDisk: readonly Entry[] = [];

  #nextTicket = 1;
  readonly #reads = new Map<number, (result: LogIndex | RejectReason) => void>();
  #appliedEvent: RaftEvent | undefined;
  #transferEnded: ((outcome: string) => void) | undefined;

  constructor(options: ReplicaOptions, store: LogStore, machine: ReplicaMachine, world: ReplicaWorld) {
    const { clock, network, random, logger } = world;
    this.#options = options;
    this.#store = store;
    this.#machine = machine;
    this.#clock = clock;
    this.#network = network;
    this.#logger = logger;
    const config: RaftConfig = {
      ...DEFAULT_RAFT_LIMITS,
      seed: random.integer(2 ** 32),
      ...options.tuning,
      id: options.id,
      voters: options.members.map((member) => member.id),
    };
    this.#core = new RaftCore(config, store.durable, clock.monotonicMs());
    this.#writer = new DurableWriter(
      store,
      (seq) => {
        this.#persistedSeq = seq;
        this.#event({ type: 'persisted', seq });
      },
      (error) => this.#fail(error),
    );
    for (const member of options.members) {
      if (member.id !== options.id)
        this.#links.set(member.id, this.#createLink(member.id, member.peerAddress, random, network));
    }
    this.#listener = new PeerListener(
      { clusterId: options.clusterId, id: options.id, peers: new Set(this.#links.keys()) },
      {
        accepted: (peer) => this.#onPeerAccepted(peer),
        frame: (from, connection, frame) => {
          this.#frames.push({ from, connection, frame });
          this.#schedule();
        },
        closed: (peer) => {
          this.#disconnected.push(peer);
          this.#links.get(peer)?.dial();
          this.#schedule();
        },
      },
      { clock, logger },
    );
    this.#status = this.#readStatus();
  }

  get status(): ReplicaStatus {
    return this.#status;
  }

  get peers(): readonly PeerInfo[] {
    return this.#options.members.map(({ id, peerAddress }) => ({
      id,
      peerAddress,
      clientAddress: id === this.#options.id ? this.#options.clientAddress : this.#listener.clientAddress(id),
      connected: id === this.#options.id || (this.#links.get(id)?.connected ?? false),
    }));
  }

  /** Where peers reach this server, with the real port; empty before start. */
  get peerAddress(): Address {
    return this.#peerListener?.address ?? '';
  }

  /** @throws ListenError */
  async start(): Promise<void> {
    this.#peerListener = await this.#network.listen(this.#listener.listenOptions(this.#options.peerListen));
    this.#running = true;
    for (const link of this.#links.values()) link.dial();
    this.#schedule();
  }

  /** Hands leadership over when it has it, waits for the write under way, and closes everything, the log store included. */
  async stop(): Promise<void> {
    if (this.#running) await this.#handOver();
    this.#halt();
    await this.#peerListener?.close();
    await this.#writer.stop();
    await this.#store.close();
  }

  propose(data: Uint8Array): void {
    if (!this.#running) {
      this.#machine.proposalRejected(data, 'stopped');
      return;
    }
    this.#proposals.push(data);
    this.#schedule();
  }

  readIndex(callback: (result: LogIndex | RejectReason) => void): void {
    if (!this.#running) {
      callback('stopped');
      return;
    }
    const ticket = this.#nextTicket;
    this.#nextTicket += 1;
    this.#reads.set(ticket, callback);
    this.#event({ type: 'read-index', ticket });
  }

  sendToPeer(peer: ServerId, payload: Uint8Array): boolean {
    const queued = this.#links.get(peer)?.queue(machineItem(payload)) ?? false;
    this.#schedule();
    return queued;
  }

  setEagerCommit(eager: boolean): void {
    this.#event({ type: 'eager-commit', eager });
  }

  #createLink(id: ServerId, address: Address, random: Random, network: Network): PeerLink {
    const hello: PeerHello = {
      version: PEER_PROTOCOL_VERSION,
      features: 0,
      clusterId: this.#options.clusterId,
      from: this.#options.id,
      to: id,
      incarnation: this.#options.incarnation,
      clientAddress: this.#options.clientAddress,
    };
    const events = {
      connected: () => this.#event({ type: 'peer-connected', peer: id }),
      disconnected: () => this.#event({ type: 'peer-disconnected', peer: id }),
      refused: () => {
        // While it can be heard it lives, whatever its address answers (a wrong one, say, or a firewall).
        if (this.#listener.hears(id)) return;
        this.#refused.push(id);
        this.#schedule();
      },
    };
    return new PeerLink(address, hello, events, { clock: this.#clock, network, random, logger: this.#logger });
  }

  #onPeerAccepted(peer: ServerId): void {
    this.#peersChanged = true;
    // It lives: no reason to wait for the next attempt.
    this.#links.get(peer)?.dial();
    this.#schedule();
  }

  #event(event: RaftEvent): void {
    this.#events.push(event);
    this.#schedule();
  }

  #schedule(): void {
    // What arrives within a turn is looked at when it ends.
    if (this.#scheduled || this.#inTurn || !this.#running) return;
    this.#scheduled = true;
    this.#clock.afterPoll(() => {
      this.#scheduled = false;
      if (!this.#running) return;
      this.#inTurn = true;
      try {
        this.#turn();
      } catch (error) {
        this.#fail(error);
      } finally {
        this.#inTurn = false;
      }
      if (this.#hasWork()) this.#schedule();
    });
  }

  #hasWork(): boolean {
    return (
      this.#events.length > 0 ||
      this.#frames.length > 0 ||
      this.#proposals.length > 0 ||
      this.#refused.length > 0 ||
      (this.#applyTo > this.#applied && !this.#readingForApply)
    );
  }

  #turn(): void {
    this.#deliver();
    if (this.#proposals.length > 0) {
      this.#events.push({ type: 'propose', commands: this.#proposals });
      this.#proposals = [];
    }
    if (this.#appliedEvent !== undefined) this.#events.push(this.#appliedEvent);
    this.#appliedEvent = undefined;
    // Behind the frames of the turn: what the gone leader said last must not bring it back.
    for (const peer of this.#refused.splice(0)) this.#events.push({ type: 'peer-refused', peer });
    const now = this.#clock.monotonicMs();
    if (now >= this.#core.deadline) this.#events.push({ type: 'deadline' });
    const events = this.#events;
    this.#events = [];
    const commitNews = this.#run(this.#core.step(events, now));
    this.#releaseHeld();
    this.#refreshStatus();
    this.#flushLinks();
    this.#apply();
    this.#refreshStatus();
    this.#machine.flush();
    for (const { to, message } of commitNews) this.#send(to, message);
    this.#flushLinks();
    this.#lastAppend = undefined;
    this.#armTimer();
  }

  /** Hands what peers said to the core's events and to the machine, in the order in which each said it. */
  #deliver(): void {
    if (this.#disconnected.length > 0) {
      const peers = this.#disconnected;
      this.#disconnected = [];
      for (const peer of peers) this.#machine.peerDisconnected(peer);
    }
    if (this.#peersChanged) {
      this.#peersChanged = false;
      this.#machine.peersChanged();
    }
    const frames = this.#frames;
    this.#frames = [];
    for (const { from, connection, frame } of frames) {
      let items;
      try {
        items = decodePeerFrame(frame);
      } catch (error) {
        this.#logger.error({ peer: from, error }, 'a peer sent a malformed frame; closing its connection');
        connection.destroy();
        continue;
      }
      for (const item of items) {
        if (item.type === 'raft') this.#events.push({ type: 'message', from, message: item.message });
        else this.#machine.peerMessage(from, item.payload);
      }
    }
  }

  /** Returns the news of commits, which leave after the clients' replies. */
  #run(effects: readonly Effect[]): { to: ServerId; message: Message }[] {
    const commitNews: { to: ServerId; message: Message }[] = [];
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          this.#writer.persist(effect);
          break;
        case 'send':
          if (effect.after !== undefined)
            this.#held.push({ to: effect.to, message: effect.message, after: effect.after });
          else if (effect.message.type === 'commit') commitNews.push(effect);
          else this.#send(effect.to, effect.message);
          break;
        case 'apply':
          this.#applyTo = effect.upTo;
          break;
        case 'read-ready':
          for (const ticket of effect.tickets) this.#settleRead(ticket, effect.index);
          break;
        case 'read-rejected':
          for (const ticket of effect.tickets) this.#settleRead(ticket, effect.reason);
          break;
        case 'proposals-rejected':
          for (const data of effect.commands) this.#machine.proposalRejected(data, effect.reason);
          break;
        case 'read-entries':
          this.#readEntries(effect);
          break;
        case 'status-changed':
          // The status is compared after every step anyway; a change within a turn shows as its result.
          break;
        case 'transfer-ended':
          this.#transferEnded?.(effect.outcome);
          break;
      }
    }
    return commitNews;
  }

  #send(to: ServerId, message: Message): void {
    this.#links.get(to)?.queueOrClose(this.#raftItem(message));
  }

  /** The core gives peers that are equally far the same array of entries: encoded once. */
  #raftItem(message: Message): Packable {
    if (message.type !== 'append' || message.entries.length === 0) return raftItem(message);
    if (this.#lastAppend?.entries !== message.entries) {
      this.#lastAppend = { entries: message.entries, item: raftItem(message) };
    }
    return this.#lastAppend.item;
  }

  #flushLinks(): void {
    for (const link of this.#links.values()) link.flush();
  }

  /** What reveals a write that is now durable. */
  #releaseHeld(): void {
    const durable = this.#persistedSeq;
    if (durable === undefined || this.#held.length === 0) return;
    const held = this.#held;
    this.#held = held.filter((send) => send.after > durable);
    for (const send of held) if (send.after <= durable) this.#send(send.to, send.message);
  }

  #settleRead(ticket: number, result: LogIndex | RejectReason): void {
    const callback = this.#reads.get(ticket);
    this.#reads.delete(ticket);
    callback?.(result);
  }

  #readEntries({ peer, term, from, to, maxBytes }: Extract<Effect, { type: 'read-entries' }>): void {
    this.#store.read(from, to, maxBytes).then(
      (entries) => this.#event({ type: 'entries-read', peer, term, entries }),
      (error: unknown) => this.#fail(error),
    );
  }

  #apply(): void {
    const sliceEnd = this.#clock.monotonicMs() + APPLY_SLICE_MS;
    while (this.#applied < this.#applyTo && !this.#readingForApply) {
      const fromDisk = this.#fromDisk;
      this.#fromDisk = [];
      const entries =
        fromDisk.length > 0 ? fromDisk : this.#core.entries(nextIndex(this.#applied), this.#applyTo, APPLY_CHUNK_BYTES);
      if (entries === undefined) {
        this.#readForApply();
        return;
      }
      this.#applyEntries(entries);
      if (this.#clock.monotonicMs() >= sliceEnd) return;
    }
  }

  #applyEntries(entries: readonly Entry[]): void {
    for (const entry of entries) {
      invariant(entry.index === this.#applied + 1, 'entries-are-applied-in-order');
      this.#machine.apply(entry);
      this.#applied = entry.index;
    }
    // Told with the next step: it only lets memory go.
    this.#appliedEvent = { type: 'applied', index: this.#applied };
  }

  /** After a restart the log is applied from disk: a chunk is read, and applied in the turn that follows. */
  #readForApply(): void {
    this.#readingForApply = true;
    const to = minIndex(this.#applyTo, previousIndex(this.#core.memoryFrom));
    this.#store.read(nextIndex(this.#applied), to, APPLY_CHUNK_BYTES).then(
      (entries) => {
        this.#readingForApply = false;
        this.#fromDisk = entries;
        this.#schedule();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #readStatus(): ReplicaStatus {
    const { role, term, leader, commitIndex, lastIndex, noopIndex } = this.#core.status;
    const ready = role === 'leader' && this.#applied >= noopIndex;
    return { role, term, leader, commitIndex, appliedIndex: this.#applied, lastIndex, ready };
  }

  #refreshStatus(): void {
    const before = this.#status;
    const after = this.#readStatus();
    this.#status = after;
    const changed =
      before.role !== after.role ||
      before.term !== after.term ||
      before.leader !== after.leader ||
      before.ready !== after.ready;
    if (!changed) return;
    if (before.role !== after.role || before.leader !== after.leader) {
      const { role, term, leader } = after;
      this.#logger.info({ role, term, leader: leader === NO_SERVER ? undefined : leader }, 'role or leader changed');
    }
    this.#machine.statusChanged(after);
  }

  /** One timer, only ever moved to an earlier time; one that comes too early finds nothing to do and arms the next. */
  #armTimer(): void {
    const deadline = this.#core.deadline;
    if (this.#timerAt <= deadline) return;
    this.#timer?.cancel();
    this.#timerAt = deadline;
    this.#timer = this.#clock.setTimer(Math.max(0, deadline - this.#clock.monotonicMs()), () => {
      this.#timerAt = Infinity;
      this.#schedule();
    });
  }

  #handOver(): Promise<void> {
    if (this.#core.status.role !== 'leader' || this.#links.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(TRANSFER_WAIT_MS, resolve);
      this.#transferEnded = (outcome) => {
        this.#logger.info({ outcome }, 'leadership hand-over ended');
        timer.cancel();
        resolve();
      };
      this.#event({ type: 'transfer' });
    });
  }

  #fail(error: unknown): void {
    if (!this.#running) return;
    this.#halt();
    this.#machine.fatal(error);
  }

  #halt(): void {
    this.#running = false;
    this.#timer?.cancel();
    for (const link of this.#links.values()) link.stop();
    for (const callback of this.#reads.values()) callback('stopped');
    this.#reads.clear();
    for (const data of this.#proposals.splice(0)) this.#machine.proposalRejected(data, 'stopped');
  }
}
