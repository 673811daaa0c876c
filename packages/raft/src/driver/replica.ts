/**
 * The driver: the only asynchronous part of consensus. Everything that arrives is gathered, and once a turn of the event loop, in
 * its check phase, becomes one step of the core, one durable write, one frame to each peer, and then the applies.
 */

import { MalformedError } from '@holdfast/protocol';
import type { Address, Clock, Connection, Logger, Timer } from '@holdfast/runtime';
import { ApplyLoop } from './apply-loop.ts';
import { CatchUpFeed } from './catch-up-feed.ts';
import {
  DEFAULT_RAFT_LIMITS,
  NO_SERVER,
  RaftCore,
  initialConfiguration,
  type ElectionCounts,
  type Effect,
  type LogIndex,
  type MembershipChange,
  type MembershipOutcome,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type RejectReason,
  type ServerId,
  type TransferOutcome,
  type WriteSeq,
} from '../core/index.ts';
import { DurableWriter } from './durable-writer.ts';
import type { LogStore } from '../log-store/log-store.ts';
import type { PeerInfo, ReplicaHandle, ReplicaMachine, ReplicaStatus, TransferResult } from '../machine.ts';
import type { ReplicaObserver } from '../observer.ts';
import { ExpelledError } from '../peers/expelled-error.ts';
import type { MembershipView } from '../peers/peer-admission.ts';
import { StageClock, type StageHistograms } from './stage-clock.ts';
import { DEFAULT_SNAPSHOT_OPTIONS, type SnapshotOptions } from '../snapshots/snapshot-options.ts';
import { ReplicaSnapshots, type SnapshotCounters } from '../snapshots/replica-snapshots.ts';
import { decodePeerFrame, type PeerItem } from '../peers/peer-codec.ts';
import { PeerMesh, type PeerMeshOptions, type PeerMeshWorld } from '../peers/peer-mesh.ts';

/** How long a stop waits for a hand-over to end, and then for the successor to be known. */
const HAND_OVER_WAIT_MS = 3_000;

/** `members` are all voters, this server included; `clientAddress` is told to the peers. */
export interface ReplicaOptions extends PeerMeshOptions {
  readonly tuning?: Partial<Omit<RaftConfig, 'id' | 'initial'>>;
  readonly snapshots?: Partial<SnapshotOptions>;
}

export interface ReplicaWorld extends PeerMeshWorld {
  readonly observer?: Partial<ReplicaObserver> | undefined;
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
  readonly #id: ServerId;
  readonly #store: LogStore;
  readonly #machine: ReplicaMachine;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #core: RaftCore;
  readonly #writer: DurableWriter;
  readonly #mesh: PeerMesh;
  readonly #applies: ApplyLoop;
  readonly #feed: CatchUpFeed;
  readonly #snapshots: ReplicaSnapshots;
  readonly #observer: Partial<ReplicaObserver> | undefined;
  readonly #stages: StageClock;

  #status: ReplicaStatus;
  #diskStalls = false;
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
  readonly #transfers = new Map<number, (result: TransferResult) => void>();
  readonly #transferCounts = new Map<TransferOutcome, number>();
  #leaderKnown: (() => void) | undefined;
  readonly #changes = new Map<number, (outcome: MembershipOutcome | 'stopped') => void>();
  #configurationVersion = -1;
  /** Members may have told what the configuration does not say. */
  #factsUntold = true;
  #removed = false;

  constructor(options: ReplicaOptions, store: LogStore, machine: ReplicaMachine, world: ReplicaWorld) {
    const { clock, random, logger, observer } = world;
    this.#id = options.id;
    this.#store = store;
    this.#machine = machine;
    this.#clock = clock;
    this.#logger = logger;
    this.#observer = observer;
    observer?.opened?.(store.durable);
    const config: RaftConfig = {
      ...DEFAULT_RAFT_LIMITS,
      seed: random.integer(2 ** 32),
      ...options.tuning,
      id: options.id,
      initial: initialConfiguration(options.members),
    };
    this.#core = new RaftCore(config, store.durable, clock.monotonicMs());
    const timed = observer?.timed?.bind(observer);
    this.#stages = new StageClock(this.#core, clock, timed);
    this.#writer = new DurableWriter(
      store,
      (seq) => this.#persisted(seq),
      (error) => this.#fail(error),
    );
    this.#applies = new ApplyLoop(
      { core: this.#core, store, clock },
      {
        apply: (entry) => {
          this.#snapshots.applied(entry);
          machine.apply(entry);
        },
        wake: () => this.#schedule(),
        failed: (error) => this.#fail(error),
      },
    );
    this.#mesh = this.#createMesh(options, world);
    const core = this.#core;
    this.#feed = new CatchUpFeed({
      store,
      clock,
      fromMemory: (from, to, maxBytes) => core.entries(from, to, maxBytes),
      event: (event) => this.#event(event),
      failed: (error) => this.#fail(error),
    });
    this.#snapshots = new ReplicaSnapshots(
      {
        options: { ...DEFAULT_SNAPSHOT_OPTIONS, ...options.snapshots },
        store,
        machine,
        core,
        applies: this.#applies,
        observer,
        route: (peer) => this.#mesh.routeTo(peer),
        event: (event) => this.#event(event),
        wake: () => this.#schedule(),
        failed: (error) => this.#fail(error),
      },
      world,
    );
    this.#followConfiguration();
    this.#status = this.#readStatus();
  }

  get status(): ReplicaStatus {
    return this.#status;
  }

  /** Durable writes to the log since the start; each carries everything that had gathered. */
  get logWrites(): number {
    return this.#writer.writes;
  }

  /** Whether a write is under way for so long that this server neither leads nor votes. */
  get diskStalls(): boolean {
    return this.#diskStalls;
  }

  /** Whether the log has lost what was acknowledged, so that this server may not vote until a leader has repaired it. */
  get voteBanned(): boolean {
    return this.#core.status.voteBanned;
  }

  get peers(): readonly PeerInfo[] {
    return this.#mesh.peers;
  }

  /** Where peers reach this server, with the real port; empty before start. */
  get peerAddress(): Address {
    return this.#mesh.address;
  }

  /** Snapshots since the start: taken of the own state, and installed in its place. */
  get snapshotCounters(): Readonly<SnapshotCounters> {
    return this.#snapshots.counters;
  }

  /** How long batches took to become durable, committed and applied while this server led. */
  get stageHistograms(): StageHistograms {
    return this.#stages.histograms;
  }

  /** @throws ListenError, DamagedLogError, DiskError, and what the machine's restore rejects with */
  async start(): Promise<void> {
    await this.#snapshots.restoreAtStart();
    this.#refreshStatus();
    await this.#mesh.start();
    this.#running = true;
    this.#schedule();
  }

  /** Elections that this server has begun, by their cause. */
  get elections(): ElectionCounts {
    return this.#core.elections;
  }

  /** Hand-overs by this server, by their outcome. */
  get transferCounts(): ReadonlyMap<TransferOutcome, number> {
    return this.#transferCounts;
  }

  /** Hands leadership over when it has it, and waits until another leader is known; not for long. Goes on as a follower. */
  async handOver(): Promise<void> {
    if (!this.#running || this.#core.status.role !== 'leader' || this.#mesh.empty) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#leaderKnown = undefined;
        resolve();
      };
      const timer = this.#clock.setTimer(HAND_OVER_WAIT_MS, done);
      this.transferLeadership(undefined, ({ outcome }) => {
        if (outcome !== 'transferred' && outcome !== 'lost-leadership') done();
        else this.#leaderKnown = done;
      });
    });
  }

  /** Hands leadership over when it has it, waits for the write under way, and closes everything, the log store included. */
  async stop(): Promise<void> {
    await this.handOver();
    this.#halt();
    await this.#mesh.stopListening();
    await this.#writer.stop();
    await this.#snapshots.stop();
    await this.#store.close();
  }

  propose(data: Uint8Array): void {
    if (!this.#running) {
      this.#machine.proposalRejected(data, 'stopped');
      return;
    }
    this.#stages.proposed();
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

  changeMembership(change: MembershipChange, callback: (outcome: MembershipOutcome | 'stopped') => void): void {
    if (!this.#running) {
      callback('stopped');
      return;
    }
    if (this.#core.status.role === 'leader' && !this.#mesh.allTakeConfigurations(change.id)) {
      callback({ type: 'refused', reason: 'unsupported' });
      return;
    }
    const ticket = this.#nextTicket;
    this.#nextTicket += 1;
    this.#changes.set(ticket, callback);
    this.#logger.info({ change }, 'a change of the members is asked for');
    this.#event({ type: 'change-membership', ticket, change });
  }

  sendToPeer(peer: ServerId, payload: Uint8Array): boolean {
    const queued = this.#mesh.sendPayload(peer, payload);
    this.#schedule();
    return queued;
  }

  transferLeadership(target?: ServerId, ended: (result: TransferResult) => void = () => {}): void {
    if (!this.#running) {
      ended({ outcome: 'not-leader', target: target ?? NO_SERVER });
      return;
    }
    const ticket = this.#nextTicket;
    this.#nextTicket += 1;
    this.#transfers.set(ticket, ended);
    this.#event({ type: 'transfer', ticket, target });
  }

  setEagerCommit(eager: boolean): void {
    this.#event({ type: 'eager-commit', eager });
  }

  #createMesh(options: PeerMeshOptions, world: PeerMeshWorld): PeerMesh {
    return new PeerMesh(
      options,
      this.#membershipView(),
      {
        connected: (peer) => this.#event({ type: 'peer-connected', peer }),
        disconnected: (peer) => this.#event({ type: 'peer-disconnected', peer }),
        gone: (peer) => {
          this.#gone.push(peer);
          this.#schedule();
        },
        snapshot: (from, connection) => this.#snapshots.accept(from, connection),
        frame: (from, connection, frame) => this.#frame(from, connection, frame),
        unheard: (peer) => {
          this.#unheard.push(peer);
          this.#schedule();
        },
        introduced: () => {
          this.#peersChanged = true;
          this.#factsUntold = true;
          this.#schedule();
        },
        expelled: (expulsion) => {
          // One that is stopping on its own knows.
          if (this.#removed) return;
          if (expulsion === 'MEMBER_REMOVED') this.#endMembership('a peer says so');
          else this.#fail(new ExpelledError(expulsion, options.id));
        },
      },
      world,
    );
  }

  /** What waited for the write leaves at once: an acknowledgement is what a commit waits for. */
  #persisted(seq: WriteSeq): void {
    this.#persistedSeq = seq;
    this.#observer?.persisted?.(seq);
    this.#stages.persisted(seq);
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
    if (!this.#waiting && this.#core.canWait(event)) {
      this.#waiting = true;
      this.#stages.left(event);
    } else this.#schedule();
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
      // First: a snapshot of it may have become durable meanwhile.
      this.#events.unshift({ type: 'applied', index: this.#applies.applied });
    }
    // Behind the frames of the turn: what the gone leader said last must not bring it back.
    for (const peer of this.#gone.splice(0)) this.#events.push({ type: 'peer-refused', peer });
    this.#tellFacts();
    const now = this.#clock.monotonicMs();
    if (now >= this.#core.deadline) this.#events.push({ type: 'deadline' });
    const events = this.#events;
    this.#events = [];
    this.#observer?.stepping?.(events, now);
    const effects = this.#core.step(events, now);
    this.#observer?.stepped?.(effects, this.#core.status);
    this.#stages.stepped(effects, now);
    const commitNews = this.#run(effects);
    this.#releaseHeld();
    this.#refreshStatus();
    this.#mesh.flush();
    this.#applies.run();
    this.#stages.applied(this.#applies.applied);
    this.#refreshStatus();
    this.#machine.flush();
    for (const { to, message } of commitNews) this.#send(to, message);
    this.#mesh.endTurn();
    this.#snapshots.endTurn();
    this.#feed.endTurn(this.#clock.monotonicMs() - now);
    this.#followConfiguration();
    this.#armTimer();
  }

  #membershipView(): MembershipView {
    return { latest: this.#core.configuration, committed: this.#core.committedConfiguration.configuration };
  }

  /** At the end of a turn, when those that leave have been told. */
  #followConfiguration(): void {
    const { configurationVersion } = this.#core;
    if (configurationVersion === this.#configurationVersion) return;
    this.#configurationVersion = configurationVersion;
    const view = this.#membershipView();
    this.#mesh.update(view, this.#core.spokenTo);
    this.#factsUntold = true;
    this.#peersChanged = true;
    if (this.#removed || !view.committed.retired.includes(this.#id)) return;
    this.#endMembership(`by entry ${view.latest.index}`);
  }

  /** The machine stops this replica when its clients are elsewhere. */
  #endMembership(how: string): void {
    this.#removed = true;
    this.#logger.warn({ how }, 'this server was removed from the ensemble');
    this.#machine.removed();
  }

  /** As leader: what members said of themselves goes into the configuration, as soon as it may be changed. */
  #tellFacts(): void {
    if (!this.#factsUntold || !this.#core.mayChange || !this.#mesh.allTakeConfigurations()) return;
    const facts = this.#mesh.newFacts();
    this.#factsUntold = facts.length > 0;
    if (facts.length > 0) this.#events.push({ type: 'member-facts', facts });
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
        case 'lift-vote-ban':
          this.#liftVoteBan();
          break;
        case 'read-entries':
          this.#feed.wanted(effect);
          break;
        case 'restore':
          this.#snapshots.restore(effect.position);
          break;
        case 'compact':
          this.#snapshots.compact(effect.upTo);
          break;
        case 'send-snapshot':
          this.#snapshots.send(effect.peer, effect.term);
          break;
        case 'membership-ended':
          this.#endChange(effect.ticket, effect.outcome);
          break;
        case 'transfer-ended':
          this.#settleTransfer(effect);
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
    this.#observer?.sending?.(to, message);
    this.#mesh.send(to, message);
  }

  #settleRead(ticket: number, result: LogIndex | RejectReason): void {
    const callback = this.#reads.get(ticket);
    this.#reads.delete(ticket);
    callback?.(result);
  }

  #settleTransfer({ tickets, outcome, target }: Extract<Effect, { type: 'transfer-ended' }>): void {
    this.#transferCounts.set(outcome, (this.#transferCounts.get(outcome) ?? 0) + 1);
    this.#logger.info({ outcome, peer: target === NO_SERVER ? undefined : target }, 'leadership hand-over ended');
    for (const ticket of tickets) {
      const ended = this.#transfers.get(ticket);
      this.#transfers.delete(ticket);
      ended?.({ outcome, target });
    }
  }

  #endChange(ticket: number, outcome: MembershipOutcome): void {
    this.#logger.info({ outcome }, 'a change of the members ended');
    const callback = this.#changes.get(ticket);
    this.#changes.delete(ticket);
    callback?.(outcome);
  }

  #liftVoteBan(): void {
    this.#store.liftVoteBan().then(
      () => this.#logger.info({}, 'the log has again what it had lost: this server votes'),
      (error: unknown) => this.#fail(error),
    );
  }

  #readStatus(): ReplicaStatus {
    const { role, term, leader, commitIndex, lastIndex, noopIndex, successor } = this.#core.status;
    const appliedIndex = this.#applies.applied;
    const ready = role === 'leader' && appliedIndex >= noopIndex;
    return { role, term, leader, commitIndex, appliedIndex, lastIndex, ready, successor };
  }

  #refreshStatus(): void {
    this.#noteDiskStall(this.#core.status.diskStalls);
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
    if (after.leader !== NO_SERVER && after.role !== 'leader') this.#leaderKnown?.();
  }

  #noteDiskStall(stalls: boolean): void {
    if (stalls === this.#diskStalls) return;
    this.#diskStalls = stalls;
    if (stalls)
      this.#logger.error(
        {},
        'the disk hangs: no write of the log has ended for an election timeout; this server neither leads nor votes until one does',
      );
    else this.#logger.info({}, 'the disk works again: this server may lead and vote');
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

  #fail(error: unknown): void {
    if (!this.#running) return;
    this.#halt();
    this.#machine.fatal(error);
  }

  #halt(): void {
    this.#running = false;
    this.#timer?.cancel();
    this.#mesh.stopSpeaking();
    this.#snapshots.stopSpeaking();
    this.#feed.stop();
    for (const callback of this.#reads.values()) callback('stopped');
    this.#reads.clear();
    for (const ended of this.#transfers.values()) ended({ outcome: 'not-leader', target: NO_SERVER });
    this.#transfers.clear();
    this.#leaderKnown?.();
    for (const callback of this.#changes.values()) callback('stopped');
    this.#changes.clear();
    for (const data of this.#proposals.splice(0)) this.#machine.proposalRejected(data, 'stopped');
  }
}
