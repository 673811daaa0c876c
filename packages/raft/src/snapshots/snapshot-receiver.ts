/**
 * Receives snapshots, one at a time: writes what arrives to the log store in order, keeps what there is when a connection breaks, has
 * the machine restore the whole beside its state, and only then gives it its name in the store and reports it. What the machine refuses
 * is removed, and nothing else has changed. A newer offer replaces an older one; while one is being restored there is no next.
 */

import { crc32 } from 'node:zlib';
import { MalformedError } from '@holdfast/protocol';
import {
  DiskError,
  RefusalLog,
  type Clock,
  type Connection,
  type ConnectionHandler,
  type Logger,
  type Timer,
} from '@holdfast/runtime';
import { minIndex, type LogIndex, type ServerId } from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';
import { bytesOf, type SnapshotSink, type SnapshotSource } from '../log-store/contract/snapshot.ts';
import type { RestoredState, SnapshotBytes } from '../machine.ts';
import { RefusedSnapshots } from './refused-snapshots.ts';
import {
  decodeSnapshotMessage,
  encodeSnapshotMessage,
  type SnapshotMessage,
  type SnapshotOffer,
} from './snapshot-codec.ts';
import {
  MAX_CHUNKS_IN_FLIGHT,
  PARTIAL_SNAPSHOT_KEPT_MS,
  RESTORING_NEWS_MS,
  TRANSFER_GIVES_WAY_MS,
} from './snapshot-options.ts';

export interface SnapshotReceiverParts {
  readonly store: LogStore;
  readonly clock: Clock;
  readonly logger: Logger;
  commitIndex(): LogIndex;
  /** One is being installed. */
  busy(): boolean;
  /** Builds its state beside the machine's. Rejects with DiskError; with anything else the snapshot is refused. */
  restore(index: LogIndex, bytes: SnapshotBytes): Promise<RestoredState>;
  /** It is durable and the store's newest, and this is its state. */
  received(from: ServerId, offer: SnapshotOffer, state: RestoredState): void;
  /** The machine refused it, and it is gone. */
  refused(): void;
  failed(error: unknown): void;
}

interface PartialSnapshot {
  readonly offer: SnapshotOffer;
  readonly from: ServerId;
  readonly sink: SnapshotSink;
  crc: number;
  connection: Connection | undefined;
  /** Messages that were taken from the connection and not carried out yet. */
  queued: number;
  /** When the last piece came, or was asked for. */
  lastAtMs: number;
}

export class SnapshotReceiver {
  readonly #parts: SnapshotReceiverParts;
  readonly #refused = new RefusedSnapshots();
  readonly #refusals: RefusalLog;
  #partial: PartialSnapshot | undefined;
  /** Everything is carried out in order. */
  #work: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  /** All of it has arrived, and its state is being built. */
  #whole: PartialSnapshot | undefined;
  #restored: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: SnapshotReceiverParts) {
    this.#parts = parts;
    this.#refusals = new RefusalLog('refused a snapshot', parts);
  }

  /** Hears one connection of a peer that has said hello for a snapshot. */
  accept(peer: ServerId, connection: Connection): ConnectionHandler {
    return {
      frame: (frame) => this.#onFrame(peer, connection, frame),
      close: () => this.#inOrder(async () => this.#closed(connection)),
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#work;
    await this.#restored;
    await this.#discard().catch(() => {});
    this.#refusals.stop();
  }

  #onFrame(peer: ServerId, connection: Connection, frame: Uint8Array): void {
    let message: SnapshotMessage;
    try {
      message = decodeSnapshotMessage(frame);
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      this.#refusals.refused('malformed snapshot', connection.remoteAddress, error.message, { peer });
      connection.destroy();
      return;
    }
    const partial = this.#partial;
    if (partial?.connection === connection) {
      partial.queued += 1;
      // A sender stays within its window: the offer or the end may come beside the pieces.
      if (partial.queued > MAX_CHUNKS_IN_FLIGHT + 2) {
        connection.destroy();
        return;
      }
    }
    this.#inOrder(async () => {
      try {
        await this.#carryOut(peer, connection, message);
      } finally {
        if (partial !== undefined && partial.connection === connection) partial.queued -= 1;
      }
    });
  }

  async #carryOut(peer: ServerId, connection: Connection, message: SnapshotMessage): Promise<void> {
    if (!connection.open) return;
    switch (message.type) {
      case 'offer':
        await this.#onOffer(peer, connection, message);
        return;
      case 'chunk':
        await this.#onChunk(connection, message.offset, message.data);
        return;
      case 'end':
        await this.#onEnd(connection);
        return;
      case 'resume':
      case 'written':
      case 'installed':
      case 'refused':
        this.#refusals.refused('a sender that answers', connection.remoteAddress, `it said ${message.type}`, { peer });
        connection.destroy();
        return;
    }
  }

  async #onOffer(peer: ServerId, connection: Connection, offer: SnapshotOffer): Promise<void> {
    const { store, logger } = this.#parts;
    const committed = this.#parts.commitIndex();
    // Another sender may have brought one meanwhile from which this one's log goes on.
    if (committed >= offer.index || committed >= offer.logBase) {
      say(connection, { type: 'installed', index: minIndex(committed, offer.index) });
      return;
    }
    const whole = this.#whole;
    if (whole !== undefined && whole.connection !== connection && isSame(whole.offer, offer)) {
      whole.connection?.destroy();
      whole.connection = connection;
      say(connection, { type: 'written', offset: offer.bytes });
      return;
    }
    const problem = this.#problem(peer, offer);
    if (problem !== undefined) {
      say(connection, { type: 'refused', reason: problem });
      return;
    }
    let partial = this.#partial;
    if (partial !== undefined && !isSame(partial.offer, offer)) {
      logger.info({ index: partial.offer.index, by: offer.index }, 'a snapshot that was being received is superseded');
      await this.#discard();
      partial = undefined;
    }
    if (partial === undefined) {
      const { index, term, configuration } = offer;
      const sink = await store.createSnapshot({
        index,
        term,
        configuration: Uint8Array.from(configuration),
        origin: 'received',
      });
      partial = {
        offer: { ...offer, configuration: Uint8Array.from(configuration) },
        from: peer,
        sink,
        crc: 0,
        connection,
        queued: 0,
        lastAtMs: 0,
      };
      this.#partial = partial;
    } else if (partial.connection !== connection) {
      partial.connection?.destroy();
      partial.connection = connection;
      partial.queued = 0;
    }
    this.#keepPartial(partial);
    logger.info({ peer, index: offer.index, bytes: offer.bytes, offset: partial.sink.bytes }, 'receiving a snapshot');
    say(connection, { type: 'resume', offset: partial.sink.bytes });
  }

  #problem(peer: ServerId, offer: SnapshotOffer): string | undefined {
    if (offer.term > offer.leaderTerm) return "its last entry is of a term above the sender's";
    if (this.#whole !== undefined || this.#parts.busy()) return 'another snapshot is being installed';
    if (this.#refused.pausing(peer, this.#parts.clock.monotonicMs())) {
      return 'the state machine refused the last one from there; the log of this server has more';
    }
    const partial = this.#partial;
    if (partial === undefined || isSame(partial.offer, offer)) return undefined;
    const { leaderTerm, index } = partial.offer;
    const older = offer.leaderTerm < leaderTerm || (offer.leaderTerm === leaderTerm && offer.index < index);
    if (older) return 'a newer snapshot is being received';
    // What has come would be lost, and the offered one is not needed when the sender's log goes on behind the other.
    if (partial.from !== peer && this.#arrives(partial) && index >= offer.logBase)
      return 'another one is being received';
    return undefined;
  }

  #arrives({ connection, lastAtMs }: PartialSnapshot): boolean {
    return connection !== undefined && this.#parts.clock.monotonicMs() - lastAtMs < TRANSFER_GIVES_WAY_MS;
  }

  async #onChunk(connection: Connection, offset: number, data: Uint8Array): Promise<void> {
    const partial = this.#partial;
    if (partial === undefined || partial.connection !== connection) return;
    if (offset !== partial.sink.bytes || offset + data.length > partial.offer.bytes || data.length === 0) {
      connection.destroy();
      return;
    }
    partial.crc = crc32(data, partial.crc);
    await partial.sink.write(data);
    this.#keepPartial(partial);
    say(connection, { type: 'written', offset: partial.sink.bytes });
  }

  async #onEnd(connection: Connection): Promise<void> {
    const partial = this.#partial;
    if (partial === undefined || partial.connection !== connection) return;
    const { offer, sink, from, crc } = partial;
    if (sink.bytes !== offer.bytes || crc !== offer.crc) {
      const fields = { peer: from, index: offer.index };
      this.#refusals.refused('not what was offered', connection.remoteAddress, 'the checksum is wrong', fields);
      await this.#discard();
      say(connection, { type: 'refused', reason: 'the bytes are not those that were offered' });
      return;
    }
    this.#partial = undefined;
    this.#timer?.cancel();
    this.#whole = partial;
    // Not in order: whoever offers another one meanwhile is answered.
    this.#restored = this.#restoreWhole(partial);
  }

  async #restoreWhole(whole: PartialSnapshot): Promise<void> {
    try {
      const answer = await this.#install(whole);
      if (whole.connection !== undefined) say(whole.connection, answer);
    } catch (error) {
      await this.#onError(error, whole);
    } finally {
      this.#timer?.cancel();
      this.#whole = undefined;
    }
  }

  async #install(whole: PartialSnapshot): Promise<SnapshotMessage> {
    const { offer, sink, from } = whole;
    this.#reportRestoring(whole);
    const state = await this.#restore(whole);
    if (typeof state === 'string') {
      await sink.abort();
      return { type: 'refused', reason: state };
    }
    this.#refused.taken(from);
    if (offer.index > this.#parts.commitIndex()) {
      // From here on a start goes on behind it, whatever the log is.
      await sink.finish();
      if (!this.#stopped) this.#parts.received(from, offer, state);
    } else await sink.abort();
    return { type: 'installed', index: offer.index };
  }

  /** Its state, or why there is none. Rejects with DiskError. */
  async #restore({ offer, from, sink }: PartialSnapshot): Promise<RestoredState | string> {
    const source = await sink.seal();
    try {
      return await this.#parts.restore(offer.index, this.#untilStopped(source));
    } catch (error) {
      if (error instanceof DiskError) throw error;
      if (this.#stopped) return 'this server stops';
      const { clock, logger } = this.#parts;
      const pauseMs = this.#refused.refused(from, clock.monotonicMs());
      this.#parts.refused();
      logger.error(
        { peer: from, index: offer.index, bytes: offer.bytes, err: error, pauseMs },
        'the state machine refused a received snapshot, which is removed: this server stays behind until it gets another',
      );
      return `its state machine refuses it: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      await source.close();
    }
  }

  async *#untilStopped(source: SnapshotSource): SnapshotBytes {
    for await (const piece of bytesOf(source)) {
      if (this.#stopped) throw new Error('this server stops');
      yield piece;
    }
  }

  /** A large state takes longer to restore than a sender waits for an answer. */
  #reportRestoring(whole: PartialSnapshot): void {
    this.#timer = this.#parts.clock.setTimer(RESTORING_NEWS_MS, () => {
      if (whole.connection !== undefined) say(whole.connection, { type: 'written', offset: whole.offer.bytes });
      this.#reportRestoring(whole);
    });
  }

  #closed(connection: Connection): void {
    for (const one of [this.#partial, this.#whole]) if (one?.connection === connection) one.connection = undefined;
  }

  /** Nobody may ever come back for it. */
  #keepPartial(partial: PartialSnapshot): void {
    partial.lastAtMs = this.#parts.clock.monotonicMs();
    this.#timer?.cancel();
    this.#timer = this.#parts.clock.setTimer(PARTIAL_SNAPSHOT_KEPT_MS, () => this.#inOrder(() => this.#discard()));
  }

  async #discard(): Promise<void> {
    const partial = this.#partial;
    this.#partial = undefined;
    this.#timer?.cancel();
    await partial?.sink.abort();
  }

  #inOrder(task: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (this.#stopped) return;
      try {
        await task();
      } catch (error) {
        await this.#onError(error, this.#partial);
      }
    });
  }

  /** A full disk ends the transfer only. Of any other failed write nothing is known, and the server stops. */
  async #onError(error: unknown, struck: PartialSnapshot | undefined): Promise<void> {
    if (!(error instanceof DiskError && error.code === 'NO_SPACE')) {
      this.#parts.failed(error);
      return;
    }
    this.#parts.logger.error({ err: error }, 'the disk has no room for the snapshot that is being received');
    if (struck === this.#partial) {
      this.#partial = undefined;
      this.#timer?.cancel();
    }
    await struck?.sink.abort().catch((failure: unknown) => this.#parts.failed(failure));
    if (struck?.connection !== undefined) say(struck.connection, { type: 'refused', reason: 'the disk is full' });
  }
}

function say(connection: Connection, message: SnapshotMessage): void {
  connection.send(encodeSnapshotMessage(message));
}

function isSame(a: SnapshotOffer, b: SnapshotOffer): boolean {
  return a.index === b.index && a.term === b.term && a.bytes === b.bytes && a.crc === b.crc;
}
