/**
 * The driver: the only asynchronous part of consensus. Everything that arrives is gathered, and once a turn of the event loop, in
 * its check phase, becomes one step of the core, one durable write, one frame to each peer, and then the applies.
 */

import { MalformedError } from '@holdfast/protocol';
import type { Address, Clock, Connection, Logger, Timer } from '@holdfast/runtime';
import { ApplyLoop } from './apply-loop.ts';
import {
  DEFAULT_RAFT_LIMITS,
  NO_SERVER,
  RaftCore,
  type Effect,
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
import type { ReplicaObserver } from './observer.ts';
import { decodePeerFrame, type PeerItem } from './peer-codec.ts';
import { PeerMesh, type PeerMeshOptions, type PeerMeshWorld } from './peer-mesh.ts';

/** How long a stop waits for a successor. */
const TRANSFER_WAIT_MS = 3_000;

/** `members` are all voters, this server included; `clientAddress` is told to the peers. */
export interface ReplicaOptions extends PeerMeshOptions {
  readonly tuning?: Partial<Omit<RaftConfig, 'id' | 'voters'>>;
}

export interface ReplicaWorld extends PeerMeshWorld {
  readonly observer?: ReplicaObserver | undefined;
}

interface HeldSend {
  readonly to: ServerId;
  readonly message: Message;
  readonly after: WriteSeq;
}

interface InboundFrame {
  readonly from: ServerId;
  readonly connection: Connection;
  readonly items: readonly PeerItem[];
}

export class Replica implements ReplicaHandle {
  readonly #store: LogStore;
  readonly #machine: ReplicaMachine;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #core: RaftCore;
  readonly #writer: DurableWriter;
  readonly #mesh: PeerMesh;
  readonly #applies: ApplyLoop;
  readonly #observer: ReplicaObserver | undefined;

  #status: ReplicaStatus;
  #running = false;
  #scheduled = false;
  /** Something that could wait has arrived since the last turn. */
  #waiting = false;
  #inTurn = false;
  #timer: Timer | undefined;
  #timerAt = Infinity;

  #events: RaftEvent[] = [];
  #frames: InboundFrame[] = [];
  #proposals: Uint8Array[] = [];
  #unheard: ServerId[] = [];
  #gone: ServerId[] = [];
  #peersChanged = false;
  #held: HeldSend[] = [];
  #persistedSeq: WriteSeq | undefined;
  /** The applied index that the core was told. */
  #toldApplied = 0;

  #nextTicket = 1;
  readonly #reads = new Map<number, (result: LogIndex | RejectReason) => void>();
  #transferEnded: ((outcome: string) => void) | undefined;

  constructor(options: ReplicaOptions, store: LogStore, machine: ReplicaMachine, world: ReplicaWorld) {
    const { clock, random, logger, observer } = world;
    this.#store = store;
    this.#machine = machine;
    this.#clock = clock;
    this.#logger = logger;
    this.#observer = observer;
    observer?.opened(store.durable);
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
      (seq) => this.#persisted(seq),
      (error) => this.#fail(error),
    );
    this.#applies = new ApplyLoop(
      { core: this.#core, store, clock },
      {
        apply: (entry) => machine.apply(entry),
        wake: () => this.#schedule(),
        failed: (error) => this.#fail(error),
      },
    );
    this.#mesh = this.#createMesh(options, world);
    this.#status = this.#readStatus();
  }

  get status(): ReplicaStatus {
    return this.#status;
  }

  /** Durable writes to the log since the start; each carries everything that had gathered. */
  get logWrites(): number {
    return this.#writer.writes;
  }

  get peers(): readonly PeerInfo[] {
    return this.#mesh.peers;
  }

  /** Where peers reach this server, with the real port; empty before start. */
  get peerAddress(): Address {
    return this.#mesh.address;
  }

  /** @throws ListenError */
  async start(): Promise<void> {
    await this.#mesh.start();
    this.#running = true;
    this.#schedule();
  }

  /** Hands leadership over when it has it, waits for the write under way, and closes everything, the log store included. */
  async stop(): Promise<void> {
    if (this.#running) await this.#handOver();
    this.#halt();
    await this.#mesh.stopListening();
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
    const queued = this.#mesh.sendPayload(peer, payload);
    this.#schedule();
    return queued;
  }

  transferLeadership(): void {
    this.#event({ type: 'transfer' });
  }

  setEagerCommit(eager: boolean): void {
    this.#event({ type: 'eager-commit', eager });
  }

  #createMesh(options: PeerMeshOptions, world: PeerMeshWorld): PeerMesh {
    return new PeerMesh(
      options,
      {
        connected: (peer) => this.#event({ type: 'peer-connected', peer }),
        disconnected: (peer) => this.#event({ type: 'peer-disconnected', peer }),
        gone: (peer) => {
          this.#gone.push(peer);
          this.#schedule();
        },
        frame: (from, connection, frame) => this.#frame(from, connection, frame),
        unheard: (peer) => {
          this.#unheard.push(peer);
          this.#schedule();
        },
        introduced: () => {
          this.#peersChanged = true;
          this.#schedule();
        },
      },
      world,
    );
  }

  /** What waited for the write leaves at once: an acknowledgement is what a commit waits for. */
  #persisted(seq: WriteSeq): void {
    this.#persistedSeq = seq;
    this.#observer?.persisted(seq);
    this.#releaseHeld();
    this.#mesh.flush();
    const event: RaftEvent = { type: 'persisted', seq };
    this.#events.push(event);
    this.#scheduleFor(event);
  }

  #frame(from: ServerId, connection: Connection, frame: Uint8Array): void {
    try {
      const items = decodePeerFrame(frame);
      this.#frames.push({ from, connection, items });
      const [only] = items;
      if (items.length === 1 && only?.type === 'raft')
        this.#scheduleFor({ type: 'message', from, message: only.message });
      else this.#schedule();
    } catch (error) {
      this.#malformed(from, connection, error);
    }
  }

  #malformed(from: ServerId, connection: Connection, error: unknown): void {
    if (!(error instanceof MalformedError)) throw error;
    this.#logger.error({ peer: from, err: error }, 'a peer sent a malformed frame; closing its connection');
    connection.destroy();
  }

  #event(event: RaftEvent): void {
    this.#events.push(event);
    this.#schedule();
  }

  /** One event alone may wait for the next turn; a second may be what makes the first count. */
  #scheduleFor(event: RaftEvent): void {
    if (!this.#waiting && this.#core.canWait(event)) this.#waiting = true;
    else this.#schedule();
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
      this.#gone.length > 0 ||
      this.#unheard.length > 0 ||
      this.#peersChanged ||
      this.#applies.hasWork
    );
  }

  #turn(): void {
    this.#waiting = false;
    this.#deliver();
    if (this.#proposals.length > 0) {
      this.#events.push({ type: 'propose', commands: this.#proposals });
      this.#proposals = [];
    }
    // It only lets memory go, so it can wait for the next step.
    if (this.#applies.applied > this.#toldApplied) {
      this.#toldApplied = this.#applies.applied;
      this.#events.push({ type: 'applied', index: this.#applies.applied });
    }
    // Behind the frames of the turn: what the gone leader said last must not bring it back.
    for (const peer of this.#gone.splice(0)) this.#events.push({ type: 'peer-refused', peer });
    const now = this.#clock.monotonicMs();
    if (now >= this.#core.deadline) this.#events.push({ type: 'deadline' });
    const events = this.#events;
    this.#events = [];
    const effects = this.#core.step(events, now);
    this.#observer?.stepped(effects, this.#core.status);
    const commitNews = this.#run(effects);
    this.#releaseHeld();
    this.#refreshStatus();
    this.#mesh.flush();
    this.#applies.run();
    this.#refreshStatus();
    this.#machine.flush();
    for (const { to, message } of commitNews) this.#send(to, message);
    this.#mesh.endTurn();
    this.#armTimer();
  }

  /** Hands what peers said to the core's events and to the machine, in the order in which each said it. */
  #deliver(): void {
    for (const peer of this.#unheard.splice(0)) this.#machine.peerDisconnected(peer);
    if (this.#peersChanged) {
      this.#peersChanged = false;
      this.#machine.peersChanged();
    }
    const frames = this.#frames;
    this.#frames = [];
    for (const { from, connection, items } of frames) {
      try {
        for (const item of items) {
          if (item.type === 'raft') this.#events.push({ type: 'message', from, message: item.message });
          else this.#machine.peerMessage(from, item.payload);
        }
      } catch (error) {
        this.#malformed(from, connection, error);
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
          this.#applies.commit(effect.upTo);
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
        case 'transfer-ended':
          this.#transferEnded?.(effect.outcome);
          break;
      }
    }
    return commitNews;
  }

  /** What reveals a write that is now durable. */
  #releaseHeld(): void {
    const durable = this.#persistedSeq;
    if (durable === undefined || this.#held.length === 0) return;
    const held = this.#held;
    this.#held = held.filter((send) => send.after > durable);
    for (const send of held) if (send.after <= durable) this.#send(send.to, send.message);
  }

  #send(to: ServerId, message: Message): void {
    this.#observer?.sending(to, message);
    this.#mesh.send(to, message);
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

  #readStatus(): ReplicaStatus {
    const { role, term, leader, commitIndex, lastIndex, noopIndex } = this.#core.status;
    const appliedIndex = this.#applies.applied;
    const ready = role === 'leader' && appliedIndex >= noopIndex;
    return { role, term, leader, commitIndex, appliedIndex, lastIndex, ready };
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

  /** One timer, only ever moved to an earlier time; one that comes too early arms the next. */
  #armTimer(): void {
    const deadline = this.#core.deadline;
    if (this.#timerAt <= deadline) return;
    this.#timer?.cancel();
    this.#timerAt = deadline;
    this.#timer = this.#clock.setTimer(Math.max(0, deadline - this.#clock.monotonicMs()), () => {
      this.#timerAt = Infinity;
      // Set for a deadline that has moved on since: there is nothing to do before the present one.
      if (this.#clock.monotonicMs() < this.#core.deadline) this.#armTimer();
      else this.#schedule();
    });
  }

  #handOver(): Promise<void> {
    if (this.#core.status.role !== 'leader' || this.#mesh.empty) return Promise.resolve();
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
    this.#mesh.stopSpeaking();
    for (const callback of this.#reads.values()) callback('stopped');
    this.#reads.clear();
    for (const data of this.#proposals.splice(0)) this.#machine.proposalRejected(data, 'stopped');
  }
}
