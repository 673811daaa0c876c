/**
 * Follows the log of a running server on its disk, batch by batch, from where it stopped the last time. It only reads, takes no lock, and
 * has no file open between two calls, so that the disk can be unmounted. What it reads may not be durable yet.
 */

import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { BatchReader, logDirectoryOf, parseSegmentFileName, type Entry } from '@holdfast/raft';
import { incarnationOf } from '../disks/incarnation.ts';

const PIECE_BYTES = 256 * 1024;

interface Place {
  /** Of the segment. */
  readonly number: number;
  /** Bytes of it that were understood. */
  readonly position: number;
}

const BEGINNING: Place = { number: 0, position: 0 };

export class LogTail {
  readonly #directory: string;
  #incarnation: string | undefined;
  #place = BEGINNING;
  #rewound = true;

  /** @param directory the server's data directory, which may not be there yet */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Its server starts anew: what was not durable may be gone, and other batches may come in its place. Another disk is read from its beginning. */
  rewind(): void {
    this.#rewound = true;
  }

  /** What has come since the last call, in the order in which it was written; a later entry replaces those of its index and behind it. */
  async read(): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    try {
      await this.#readAll(entries);
    } catch (error) {
      // Not made yet, or of a disk that has failed: what it has is read when it is back.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
    return entries;
  }

  async #readAll(entries: Entry[]): Promise<void> {
    if (this.#rewound) this.#begin(incarnationOf(this.#directory));
    for (;;) {
      // Listed before it is read: a segment that follows shows that nothing more comes into this one.
      const segments = segmentsIn(logDirectoryOf(this.#directory));
      const present = segments.find(({ number }) => number === this.#place.number);
      if (present !== undefined) await this.#readSegment(present.path, entries);
      const next = segments.find(({ number }) => number > this.#place.number);
      if (next === undefined) return;
      this.#place = { number: next.number, position: 0 };
    }
  }

  #begin(incarnation: string): void {
    this.#place = incarnation === this.#incarnation ? { number: this.#place.number, position: 0 } : BEGINNING;
    this.#incarnation = incarnation;
    this.#rewound = false;
  }

  async #readSegment(path: string, entries: Entry[]): Promise<void> {
    const { number } = this.#place;
    const options = { incarnation: this.#incarnation ?? '', segment: number, pieceBytes: PIECE_BYTES };
    const read = (position: number, length: number): Promise<Uint8Array> =>
      Promise.resolve(readPiece(path, position, length));
    const reader = new BatchReader({ read }, { ...options, sizeBytes: sizeOf(path) });
    for (;;) {
      const found = await reader.readAt(this.#place.position);
      // What is not whole may be under way.
      if (found.kind !== 'batch') return;
      // Copied: an entry would keep the whole piece.
      entries.push(...found.batch.entries.map((entry) => ({ ...entry, data: entry.data.slice() })));
      this.#place = { number, position: found.end };
    }
  }
}

function segmentsIn(directory: string): { readonly number: number; readonly path: string }[] {
  return readdirSync(directory)
    .toSorted()
    .flatMap((file) => {
      const name = parseSegmentFileName(file);
      return name === undefined ? [] : [{ number: name.number, path: join(directory, file) }];
    });
}

function sizeOf(path: string): number {
  return withFile(path, (fd) => fstatSync(fd).size);
}

/** Closed before anybody else has a turn: an open file would keep the disk from being unmounted. */
function readPiece(path: string, position: number, length: number): Uint8Array {
  return withFile(path, (fd) => {
    const room = Buffer.allocUnsafe(length);
    return room.subarray(0, readSync(fd, room, 0, length, position));
  });
}

function withFile<T>(path: string, use: (fd: number) => T): T {
  const fd = openSync(path, 'r');
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
