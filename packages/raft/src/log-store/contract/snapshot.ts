/**
 * Snapshots as a log store keeps them: a position in the log, the configuration as of it, and the machine's bytes, which the store
 * does not understand. The newest one that is whole counts; one that is not finished leaves nothing.
 */

import { crc32 } from 'node:zlib';
import type { LogPosition, SnapshotPosition } from '../../core/index.ts';
import { DamagedSnapshotError } from '../errors/damaged-snapshot-error.ts';

/** Where a snapshot came from. */
export type SnapshotOrigin =
  /** This server's own state: its log held everything up to the index, durably. */
  | 'taken'
  /** A leader's: the log may end before its index, or differ from it there. */
  | 'received';

export interface SnapshotMeta extends SnapshotPosition {
  readonly origin: SnapshotOrigin;
}

export interface SnapshotInfo extends SnapshotMeta {
  /** Of the machine. */
  readonly bytes: number;
  /** CRC-32 of those bytes. */
  readonly crc: number;
}

export interface SnapshotSink {
  /** Bytes that were given to `write`. */
  readonly bytes: number;
  /** In order, one at a time: the next only when it has resolved, and the bytes stay as they are until then. Rejects with DiskError. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * All of it is written: it can be read, and is none of the store's yet, so that a start finds nothing of it. Before `finish`, or left
   * out. Rejects with DiskError.
   */
  seal(): Promise<SnapshotSource>;
  /**
   * **Durable** on resolve, and from then on the store's newest, unless that is newer already. The last call, and so is abort.
   * Rejects with DiskError.
   */
  finish(): Promise<SnapshotInfo>;
  /** Leaves nothing of it. Also after a failed write, and behind `seal`. */
  abort(): Promise<void>;
}

export interface SnapshotSource {
  readonly info: SnapshotInfo;
  /** What it is called in errors. */
  readonly path: string;
  /** Of a room that is large enough for what is read at once. */
  readonly roomBytes: number;
  /**
   * Bytes from `offset` on: some, at most a chunk; none at the end. The caller's; they may lie in `room`.
   * @throws DamagedSnapshotError when they are not what was written; DiskError
   */
  read(offset: number, room?: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * All of it, in order, the next part being read while one is used; each is good until the next is asked for. Ends only when all of it
 * was what was written. Leaves it open.
 * @throws DamagedSnapshotError, DiskError
 */
export async function* bytesOf(source: SnapshotSource): AsyncGenerator<Uint8Array> {
  // Not memory of its own for each part: a large state would leave as much garbage as it has bytes.
  let [room, nextRoom] = [new Uint8Array(source.roomBytes), new Uint8Array(source.roomBytes)];
  let reading = source.read(0, room);
  let crc = 0;
  try {
    for (let offset = 0; offset < source.info.bytes;) {
      const bytes = await reading;
      offset += bytes.length;
      [room, nextRoom] = [nextRoom, room];
      reading = source.read(offset, room);
      // Its error is for whoever asks for the part.
      reading.catch(() => {});
      crc = crc32(bytes, crc);
      yield bytes;
    }
    if (crc !== source.info.crc) throw new DamagedSnapshotError(source.path, 0, 'the checksum of the whole is wrong');
  } finally {
    // Nothing of it is under way when the source is closed.
    await reading.catch(() => {});
  }
}

/** Whether `a` is in place of `b` the one to keep. */
export function isNewer(a: LogPosition, b: LogPosition | undefined): boolean {
  return b === undefined || a.index > b.index;
}
