/**
 * Writes one snapshot of the machine to the log store: a slice in a turn of the event loop, the next when the disk has taken it and the
 * loop has had more time for everything else than the slice took, and, in a large snapshot, the disk more than its bytes are worth, so
 * that neither turns nor the log's writes wait for it.
 */

import { DiskError, type Clock } from '@holdfast/runtime';
import type { SnapshotPosition } from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';
import type { MachineSnapshot } from '../machine.ts';
import { TakingThrottle } from './taking-throttle.ts';

export interface SnapshotTakerParts {
  readonly store: LogStore;
  readonly clock: Clock;
  readonly sliceBytes: number;
  /** Whether the log is durable up to there. */
  isDurable(position: SnapshotPosition): boolean;
}

export type TakingOutcome = 'taken' | 'cancelled' | 'disk-full';

export class SnapshotTaker {
  readonly position: SnapshotPosition;
  readonly #parts: SnapshotTakerParts;
  readonly #snapshot: MachineSnapshot;
  /** For every slice: the sink is done with one before the next. */
  readonly #room: Uint8Array;
  #handedOut = false;
  #cancelled = false;
  readonly #throttle = new TakingThrottle();
  /** Before the next slice. */
  #restMs = 0;
  /** Ends the wait for the log. */
  #turnEnded: (() => void) | undefined;

  /** `snapshot` is of exactly that position. */
  constructor(position: SnapshotPosition, snapshot: MachineSnapshot, parts: SnapshotTakerParts) {
    this.position = position;
    this.#snapshot = snapshot;
    this.#parts = parts;
    this.#room = new Uint8Array(parts.sliceBytes);
  }

  /** The machine is free for another one at once; the file is gone when `run` has resolved. */
  cancel(): void {
    this.#cancelled = true;
    this.#turnEnded?.();
    if (this.#handedOut) return;
    this.#handedOut = true;
    this.#snapshot.cancel();
  }

  /** The log may have become durable further. */
  endTurn(): void {
    this.#turnEnded?.();
  }

  /** Rejects with DiskError, but not of a full disk. */
  async run(): Promise<TakingOutcome> {
    const { store } = this.#parts;
    try {
      const sink = await store.createSnapshot({ ...this.position, origin: 'taken' });
      try {
        for (;;) {
          const slice = await this.#nextSlice();
          if (slice === undefined) break;
          await sink.write(slice);
        }
        // The log of a server that has a snapshot reaches up to it: one that does not has lost something.
        while (!this.#cancelled && !this.#parts.isDurable(this.position)) {
          await new Promise<void>((resolve) => (this.#turnEnded = resolve));
        }
        if (!this.#cancelled) {
          await sink.finish();
          return 'taken';
        }
      } catch (error) {
        await sink.abort().catch(() => {});
        throw error;
      }
      await sink.abort();
      return 'cancelled';
    } catch (error) {
      this.cancel();
      if (error instanceof DiskError && error.code === 'NO_SPACE') return 'disk-full';
      throw error;
    }
  }

  async #nextSlice(): Promise<Uint8Array | undefined> {
    const { clock, sliceBytes } = this.#parts;
    await new Promise<void>((resolve) => {
      if (this.#restMs > 0) clock.setTimer(this.#restMs, () => clock.afterPoll(resolve));
      else clock.afterPoll(resolve);
    });
    if (this.#cancelled) return undefined;
    const begunMs = clock.monotonicMs();
    const slice = this.#snapshot.next(sliceBytes, this.#room);
    if (slice === undefined) this.#handedOut = true;
    this.#restMs = this.#throttle.restMsAfter(slice?.length ?? 0, clock.monotonicMs() - begunMs);
    return slice;
  }
}
