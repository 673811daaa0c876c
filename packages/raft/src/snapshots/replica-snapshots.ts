/**
 * A replica's snapshots, all of them: when one is taken and what may then be forgotten, the restore at a start and of what a leader
 * sent, and their transfer to peers and from them. The replica reports to it the core's effects and the end of every turn.
 */

import {
  Throttle,
  type Clock,
  type Connection,
  type ConnectionHandler,
  type Logger,
  type Network,
  type Random,
} from '@holdfast/runtime';
import type { ApplyLoop } from '../driver/apply-loop.ts';
import {
  encodeConfiguration,
  invariant,
  maxIndex,
  minIndex,
  type Entry,
  type LogIndex,
  type LogPosition,
  type RaftCore,
  type RaftEvent,
  type ServerId,
  type Term,
} from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';
import { bytesOf } from '../log-store/contract/snapshot.ts';
import type { ReplicaMachine, RestoredState, SnapshotBytes } from '../machine.ts';
import type { ReplicaObserver } from '../observer.ts';
import { LogGauge } from './log-gauge.ts';
import { OvertakenTransfers } from './overtaken-transfers.ts';
import { HELD_LOG_FACTOR, RETRY_AFTER_SHARE, SLICE_REST_FACTOR, type SnapshotOptions } from './snapshot-options.ts';
import { SnapshotReceiver } from './snapshot-receiver.ts';
import { SnapshotSender, type SnapshotSenderParts } from './snapshot-sender.ts';
import { SnapshotTaker } from './snapshot-taker.ts';

export interface ReplicaSnapshotsParts {
  readonly options: SnapshotOptions;
  readonly store: LogStore;
  readonly machine: ReplicaMachine;
  readonly core: RaftCore;
  readonly applies: ApplyLoop;
  readonly observer: Pick<Partial<ReplicaObserver>, 'snapshotTaken'> | undefined;
  /** How to reach a peer; undefined when it is none. */
  route(peer: ServerId): Pick<SnapshotSenderParts, 'address' | 'peer' | 'greeting'> | undefined;
  event(event: RaftEvent): void;
  /** A turn is needed. */
  wake(): void;
  failed(error: unknown): void;
}

export interface ReplicaSnapshotsWorld {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

export interface SnapshotCounters {
  taken: number;
  installed: number;
  /** By the machine, of those that were received. */
  refused: number;
  /** Those that were still on their way to a peer when the log had forgotten what follows them. */
  overtaken: number;
}

interface Sending {
  /** In which the core asked for it. */
  readonly term: Term;
  /** Undefined while the peer has not said that it can take one. */
  sender: SnapshotSender | undefined;
}

export class ReplicaSnapshots {
  readonly counters: SnapshotCounters = { taken: 0, installed: 0, refused: 0, overtaken: 0 };
  readonly #parts: ReplicaSnapshotsParts;
  readonly #world: ReplicaSnapshotsWorld;
  readonly #gauge: LogGauge;
  /** Shared by all senders. */
  readonly #throttle: Throttle;
  readonly #receiver: SnapshotReceiver;
  readonly #overtaken: OvertakenTransfers;
  /** What the core has asked for. */
  readonly #sending = new Map<ServerId, Sending>();
  #taker: SnapshotTaker | undefined;
  #taking: Promise<void> = Promise.resolve();
  /** As the gauge had it when the last snapshot was begun, or was tried in vain. */
  #lastBegunBytes = 0;
  #restoring = false;
  /** The snapshot that was reported to the core and has not looked at yet, and its state. */
  #offered: { readonly index: LogIndex; readonly state: RestoredState } | undefined;
  #stopped = false;

  constructor(parts: ReplicaSnapshotsParts, world: ReplicaSnapshotsWorld) {
    this.#parts = parts;
    this.#world = world;
    this.#gauge = new LogGauge(parts.options.snapshotTrailingBytes);
    const { snapshotBytesPerSecond: bytesPerSecond } = parts.options;
    this.#throttle = new Throttle({ bytesPerSecond, restFactor: SLICE_REST_FACTOR }, world.clock);
    this.#overtaken = new OvertakenTransfers(parts.options, world.clock, world.logger);
    this.#receiver = new SnapshotReceiver({
      store: parts.store,
      clock: world.clock,
      logger: world.logger,
      commitIndex: () => parts.core.status.commitIndex,
      busy: () => this.#restoring || this.#offered !== undefined,
      restore: (index, bytes) => this.#build(index, bytes),
      refused: () => {
        this.counters.refused += 1;
      },
      received: (from, { leaderTerm, index, term, configuration }, state) => {
        this.#offered = { index, state };
        const position = { index, term, configuration };
        parts.event({ type: 'snapshot-received', from, term: leaderTerm, position });
      },
      failed: (error) => this.#fail(error),
    });
  }

  /** Before the first turn. */
  async restoreAtStart(): Promise<void> {
    const { snapshot } = this.#parts.store.durable;
    if (snapshot === undefined) return;
    const { store } = this.#parts;
    const source = await store.openSnapshot();
    const { index } = snapshot;
    invariant(
      source?.info.index === index,
      'the-snapshot-to-restore-is-the-newest',
      () => `${index}, ${source?.info.index}`,
    );
    try {
      const state = await this.#build(index, bytesOf(source));
      this.#adopt(index, state);
    } finally {
      await source.close();
    }
  }

  applied(entry: Entry): void {
    this.#gauge.applied(entry);
  }

  /** The state is to become that of the received snapshot, which was built beside it; nothing is applied until it has. */
  restore({ index }: LogPosition): void {
    const offered = this.#offered;
    invariant(offered?.index === index, 'a-state-is-built-before-the-log-lets-go', () => `${index}, ${offered?.index}`);
    this.#restoring = true;
    this.#parts.applies.pause();
    this.#taker?.cancel();
    this.#install(index, offered.state).catch((error: unknown) => this.#fail(error));
  }

  compact(upTo: LogIndex): void {
    this.#gauge.forget(upTo);
    this.#parts.store.compact(upTo).catch((error: unknown) => this.#fail(error));
  }

  send(peer: ServerId, term: Term): void {
    const present = this.#sending.get(peer);
    // A connection that flaps makes the core ask again for what is under way.
    if (present?.term === term) return;
    present?.sender?.stop();
    this.#sending.set(peer, { term, sender: this.#startSender(peer, term) });
  }

  #startSender(peer: ServerId, term: Term): SnapshotSender | undefined {
    const { core, store } = this.#parts;
    const route = this.#parts.route(peer);
    if (route === undefined) return undefined;
    const sender = new SnapshotSender(
      {
        ...route,
        leaderTerm: term,
        logBase: () => core.logBase,
        throttle: this.#throttle,
        urgent: () => core.isNeeded(peer),
        openSnapshot: () => store.openSnapshot(),
        reachesBack: (index) => core.termAt(index) !== undefined,
        sent: (index) => {
          this.#sending.delete(peer);
          this.#parts.event({ type: 'snapshot-sent', peer, term, index });
        },
        failed: (error) => this.#fail(error),
      },
      this.#world,
    );
    sender.start();
    return sender;
  }

  peerLost(peer: ServerId): void {
    this.#sending.get(peer)?.sender?.peerLost();
  }

  peerConnected(peer: ServerId): void {
    this.#sending.get(peer)?.sender?.peerConnected();
  }

  /** A connection on which a peer wants to send one. */
  accept(peer: ServerId, connection: Connection): ConnectionHandler {
    return this.#receiver.accept(peer, connection);
  }

  endTurn(): void {
    this.#offered = undefined;
    this.#taker?.endTurn();
    for (const [peer, sending] of this.#sending) {
      if (this.#parts.core.needsSnapshot(peer)) {
        sending.sender ??= this.#startSender(peer, sending.term);
        continue;
      }
      if (this.#goesOn(peer, sending)) continue;
      sending.sender?.stop();
      this.#sending.delete(peer);
    }
    if (this.#gauge.bytes - this.#lastBegunBytes >= this.#parts.options.snapshotLogBytes) this.#begin();
  }

  /** Whoever leads now begins anew with its own snapshot when this transfer breaks off. */
  #goesOn(peer: ServerId, { sender }: Sending): boolean {
    const { core } = this.#parts;
    return core.status.role !== 'leader' && sender?.connected === true && this.#parts.route(peer) !== undefined;
  }

  stopSpeaking(): void {
    this.#stopped = true;
    this.#taker?.cancel();
    for (const { sender } of this.#sending.values()) sender?.stop();
    this.#sending.clear();
  }

  /** Before the store is closed. */
  async stop(): Promise<void> {
    await this.#receiver.stop();
    await this.#taking;
  }

  #begin(): void {
    const { machine, core, applies, store, options } = this.#parts;
    if (machine.beginSnapshot === undefined || this.#taker !== undefined || this.#restoring || this.#stopped) return;
    const index = applies.applied;
    const term = core.termAt(index);
    if (term === undefined || index <= (store.snapshot?.index ?? 0)) return;
    const begunBytes = this.#gauge.bytes;
    this.#lastBegunBytes = begunBytes;
    const configuration = encodeConfiguration(core.configurationAsOf(index).configuration);
    const position = { index, term, configuration };
    const taker = new SnapshotTaker(position, machine.beginSnapshot(), {
      store,
      clock: this.#world.clock,
      sliceBytes: options.snapshotSliceBytes,
      isDurable: ({ index: upTo }) => core.stableIndex >= upTo,
    });
    this.#taker = taker;
    this.#taking = this.#take(taker, begunBytes).catch((error: unknown) => this.#fail(error));
  }

  async #take(taker: SnapshotTaker, begunBytes: number): Promise<void> {
    const { options } = this.#parts;
    const { logger } = this.#world;
    let outcome;
    try {
      outcome = await taker.run();
    } finally {
      this.#taker = undefined;
    }
    if (this.#stopped) return;
    const { position } = taker;
    if (outcome === 'disk-full') {
      const nextAfterBytes = options.snapshotLogBytes * RETRY_AFTER_SHARE;
      this.#lastBegunBytes = this.#gauge.bytes - options.snapshotLogBytes + nextAfterBytes;
      logger.error(
        { index: position.index, nextAfterBytes },
        'the disk has no room for a snapshot; the log goes on growing',
      );
    }
    if (outcome !== 'taken') return;
    this.counters.taken += 1;
    logger.info({ index: position.index }, 'took a snapshot');
    this.#parts.observer?.snapshotTaken?.(position);
    this.#parts.event({ type: 'snapshot-taken', position, compactTo: this.#compactTo(position, begunBytes) });
  }

  /** Keeps a margin for followers that lag, and what follows a snapshot that is on its way to one, unless it takes too long. */
  #compactTo({ index }: LogPosition, begunBytes: number): LogIndex {
    const { snapshotLogBytes, snapshotTrailingBytes } = this.#parts.options;
    const margin = this.#gauge.indexBefore(begunBytes, snapshotTrailingBytes);
    let held = minIndex(index, margin);
    for (const { sender } of this.#sending.values()) held = minIndex(held, sender?.index ?? index);
    const longest = this.#gauge.indexBefore(begunBytes, HELD_LOG_FACTOR * snapshotLogBytes);
    const compactTo = maxIndex(held, minIndex(index, longest));
    this.#lookForOvertaken(compactTo);
    return compactTo;
  }

  /** Of peers that are being spoken to: one that is away gets another snapshot when it comes back, and there is nothing to tune. */
  #lookForOvertaken(compactTo: LogIndex): void {
    for (const [peer, { sender }] of this.#sending) {
      if (sender?.index === undefined || sender.index >= compactTo || !sender.connected) continue;
      if (this.#overtaken.add(peer, sender.index)) this.counters.overtaken += 1;
    }
  }

  async #install(index: LogIndex, state: RestoredState): Promise<void> {
    // What is being taken holds the machine, and its file must not be taken for a newer one.
    await this.#taking;
    if (this.#stopped) return;
    this.#adopt(index, state);
    this.counters.installed += 1;
    this.#restoring = false;
    this.#parts.wake();
  }

  #build(index: LogIndex, bytes: SnapshotBytes): Promise<RestoredState> {
    const { machine } = this.#parts;
    if (machine.restore === undefined) {
      return Promise.reject(new Error(`a snapshot of index ${index} is for a machine that restores none`));
    }
    return machine.restore(index, bytes);
  }

  #adopt(index: LogIndex, state: RestoredState): void {
    state.adopt();
    this.#parts.applies.restored(index);
    this.#world.logger.info({ index }, 'restored the state of a snapshot');
  }

  #fail(error: unknown): void {
    if (!this.#stopped) this.#parts.failed(error);
  }
}
