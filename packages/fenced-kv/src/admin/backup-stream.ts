/**
 * A backup on its way to an operator while the store is served: the bytes of its file, out of one snapshot. About a mebibyte of it is in
 * memory, and other requests have their turns in between. A reader that takes nothing for a while is cut off: what is replaced on the disk
 * stays there for as long as the snapshot is open.
 */

import { BackupWriter } from '../backup/backup-file.ts';
import { takeBackup } from '../backup/take-backup.ts';
import type { BackupCounts } from '../backup/take-backup.ts';
import type { Snapshot } from '../engines/engine.ts';
import { describeError } from '../engines/engine-error.ts';
import { BACKUP_STALL_MS } from '../limits.ts';

export interface BackupStreamDeps {
  /** Called once: with what was written, or why it was not to its end. */
  readonly ended: (outcome: BackupCounts | Error) => void;
  /** @default 60,000 */
  readonly stallMs?: number | undefined;
}

/** Closes the snapshot at the end. A stream that ends has the end of the backup; one that does not, is none. */
export function streamBackup(
  snapshot: Snapshot,
  { ended, stallMs = BACKUP_STALL_MS }: BackupStreamDeps,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const room = new Room(stallMs);
  const run = async (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> => {
    try {
      const writer = new BackupWriter({
        write: async (_position, bytes) => {
          controller.enqueue(new Uint8Array(bytes));
          // A turn of the event loop for everybody else, however fast the reader is.
          await new Promise((resolve) => setImmediate(resolve));
          if ((controller.desiredSize ?? 0) <= 0) await room.wait();
          room.assertWanted();
        },
        sync: async () => await Promise.resolve(),
      });
      const counts = await takeBackup(snapshot, async (record) => await writer.add(record));
      await writer.end();
      ended(counts);
      controller.close();
    } catch (error) {
      ended(error instanceof Error ? error : new Error(describeError(error)));
      if (!room.cancelled) controller.error(error);
    } finally {
      snapshot.close();
    }
  };
  return new ReadableStream(
    {
      start(controller) {
        void run(controller);
      },
      pull: () => room.made(),
      cancel: () => room.cancel(),
    },
    { highWaterMark: 1 },
  );
}

/** Whether the reader has room for more, or wants none any more. */
class Room {
  readonly #stallMs: number;
  #wake: (() => void) | undefined;
  #cancelled = false;

  constructor(stallMs: number) {
    this.#stallMs = stallMs;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  made(): void {
    this.#wake?.();
  }

  cancel(): void {
    this.#cancelled = true;
    this.#wake?.();
  }

  /** Rejects where there is none for too long. */
  async wait(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#wake = undefined;
        reject(new Error(`nothing of the backup was taken for ${this.#stallMs} ms`));
      }, this.#stallMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }

  assertWanted(): void {
    if (this.#cancelled) throw new Error('who asked for the backup has gone');
  }
}
