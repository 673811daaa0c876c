/**
 * Receives snapshots, one at a time: writes what arrives to the log store in order, keeps what there is when a connection breaks, and
 * reports the whole once it is durable. A newer offer replaces an older one; while one is being installed there is no next.
 */

import { crc32 } from 'node:zlib';
import { MalformedError } from '@holdfast/protocol';
import {
  DiskError,
  type Clock,
  type Connection,
  type ConnectionHandler,
  type Logger,
  type Timer,
} from '@holdfast/runtime';
import type { LogIndex, ServerId } from '../core/index.ts';
import type { LogStore } from '../log-store/log-store.ts';
import type { SnapshotInfo, SnapshotSink } from '../log-store/snapshot.ts';
import {
  decodeSnapshotMessage,
  encodeSnapshotMessage,
  type SnapshotMessage,
  type SnapshotOffer,
} from './snapshot-codec.ts';
import { MAX_CHUNKS_IN_FLIGHT, PARTIAL_SNAPSHOT_KEPT_MS } from './snapshot-options.ts';

export interface SnapshotReceiverParts {
  readonly store: LogStore;
  readonly clock: Clock;
  readonly logger: Logger;
  commitIndex(): LogIndex;
  /** One is being installed. */
  busy(): boolean;
  received(from: ServerId, offer: SnapshotOffer, info: SnapshotInfo): void;
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
}

export class SnapshotReceiver {
  readonly #parts: SnapshotReceiverParts;
  #partial: PartialSnapshot | undefined;
  /** Everything is carried out in order. */
  #work: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(parts: SnapshotReceiverParts) {
    this.#parts = parts;
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
    await this.#discard().catch(() => {});
  }

  #onFrame(peer: ServerId, connection: Connection, frame: Uint8Array): void {
    let message: SnapshotMessage;
    try {
      message = decodeSnapshotMessage(frame);
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      this.#parts.logger.error({ peer, err: error }, 'a peer sent a malformed snapshot; closing its connection');
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
        this.#parts.logger.error(
          { peer, type: message.type },
          'a sender of a snapshot answers; closing its connection',
        );
        connection.destroy();
        return;
    }
  }

  async #onOffer(peer: ServerId, connection: Connection, offer: SnapshotOffer): Promise<void> {
    const { store, logger } = this.#parts;
    if (offer.index <= this.#parts.commitIndex()) {
      say(connection, { type: 'installed', index: offer.index });
      return;
    }
    const problem = this.#problem(offer);
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
      };
      this.#partial = partial;
    } else if (partial.connection !== connection) {
      partial.connection?.destroy();
      partial.connection = connection;
      partial.queued = 0;
    }
    this.#keepPartial();
    logger.info({ peer, index: offer.index, bytes: offer.bytes, offset: partial.sink.bytes }, 'receiving a snapshot');
    say(connection, { type: 'resume', offset: partial.sink.bytes });
  }

  #problem(offer: SnapshotOffer): string | undefined {
    if (offer.term > offer.leaderTerm) return "its last entry is of a term above the sender's";
    if (this.#parts.busy()) return 'another snapshot is being installed';
    const partial = this.#partial?.offer;
    if (partial === undefined || isSame(partial, offer)) return undefined;
    const older =
      offer.leaderTerm < partial.leaderTerm || (offer.leaderTerm === partial.leaderTerm && offer.index < partial.index);
    return older ? 'a newer snapshot is being received' : undefined;
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
    this.#keepPartial();
    say(connection, { type: 'written', offset: partial.sink.bytes });
  }

  async #onEnd(connection: Connection): Promise<void> {
    const partial = this.#partial;
    if (partial === undefined || partial.connection !== connection) return;
    const { offer, sink, from, crc } = partial;
    if (sink.bytes !== offer.bytes || crc !== offer.crc) {
      this.#parts.logger.error(
        { peer: from, index: offer.index },
        'a received snapshot is not the one that was offered',
      );
      await this.#discard();
      say(connection, { type: 'refused', reason: 'the bytes are not those that were offered' });
      return;
    }
    this.#partial = undefined;
    this.#timer?.cancel();
    const info = await sink.finish();
    if (this.#stopped) return;
    this.#parts.received(from, offer, info);
    say(connection, { type: 'installed', index: offer.index });
  }

  #closed(connection: Connection): void {
    if (this.#partial?.connection === connection) this.#partial.connection = undefined;
  }

  /** Nobody may ever come back for it. */
  #keepPartial(): void {
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
        await this.#onError(error);
      }
    });
  }

  /** A full disk ends the transfer only. Of any other failed write nothing is known, and the server stops. */
  async #onError(error: unknown): Promise<void> {
    if (!(error instanceof DiskError && error.code === 'NO_SPACE')) {
      this.#parts.failed(error);
      return;
    }
    this.#parts.logger.error({ err: error }, 'the disk has no room for the snapshot that is being received');
    const connection = this.#partial?.connection;
    await this.#discard().catch((failure: unknown) => this.#parts.failed(failure));
    if (connection !== undefined) say(connection, { type: 'refused', reason: 'the disk is full' });
  }
}

function say(connection: Connection, message: SnapshotMessage): void {
  connection.send(encodeSnapshotMessage(message));
}

function isSame(a: SnapshotOffer, b: SnapshotOffer): boolean {
  return a.index === b.index && a.term === b.term && a.bytes === b.bytes && a.crc === b.crc;
}
