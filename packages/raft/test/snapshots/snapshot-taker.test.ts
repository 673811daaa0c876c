import type { Clock } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { encodeConfiguration, initialConfiguration, logIndex, serverId, term } from '../../src/core/index.ts';
import { MemoryLogStore } from '../../src/log-store/memory-log-store.ts';
import type { MachineSnapshot } from '../../src/machine.ts';
import { SLICE_REST_FACTOR, TAKEN_BYTES_PER_MS } from '../../src/snapshots/snapshot-options.ts';
import { SnapshotTaker } from '../../src/snapshots/snapshot-taker.ts';

const POSITION = {
  index: logIndex(5),
  term: term(1),
  configuration: encodeConfiguration(initialConfiguration([{ id: serverId(1), peerAddress: 'host:1' }])),
};
const SLICES = 5;

/** A machine whose slices take time; timers end when they are due, and what has no timer goes on at once. */
class Scene {
  nowMs = 0;
  /** For everything else, before each slice but the first. */
  readonly restsMs: number[] = [];
  readonly #sliceMs: number;
  readonly #sliceBytes: number;

  constructor(sliceMs: number, sliceBytes = 10) {
    this.#sliceMs = sliceMs;
    this.#sliceBytes = sliceBytes;
  }

  async take(): Promise<string> {
    let left = SLICES;
    let endedMs: number | undefined;
    const snapshot: MachineSnapshot = {
      next: () => {
        if (endedMs !== undefined) this.restsMs.push(this.nowMs - endedMs);
        this.nowMs += this.#sliceMs;
        endedMs = this.nowMs;
        left -= 1;
        return left < 0 ? undefined : new Uint8Array(this.#sliceBytes);
      },
      cancel: () => {},
    };
    const parts = {
      store: new MemoryLogStore(),
      clock: this.#clock(),
      sliceBytes: this.#sliceBytes,
      isDurable: () => true,
    };
    return new SnapshotTaker(POSITION, snapshot, parts).run();
  }

  #clock(): Clock {
    return {
      monotonicMs: () => this.nowMs,
      wallMs: () => this.nowMs,
      setTimer: (delayMs, run) => {
        queueMicrotask(() => {
          this.nowMs += delayMs;
          run();
        });
        return { cancel: () => {} };
      },
      afterPoll: (run) => queueMicrotask(run),
    };
  }
}

describe('taking a snapshot', () => {
  it('leaves the event loop more time after each slice than the slice took', async () => {
    const scene = new Scene(4);
    expect(await scene.take()).toBe('taken');
    expect(scene.restsMs).toEqual(Array.from({ length: SLICES }, () => 4 * SLICE_REST_FACTOR));
  });

  it('leaves the disk as much time as its bytes are worth, where slices take less', async () => {
    const scene = new Scene(0.5, 8 * TAKEN_BYTES_PER_MS);
    expect(await scene.take()).toBe('taken');
    expect(scene.restsMs).toEqual(Array.from({ length: SLICES }, () => 8));
  });

  it('gathers such rests where slices are small', async () => {
    const scene = new Scene(0, TAKEN_BYTES_PER_MS / 2);
    expect(await scene.take()).toBe('taken');
    expect(scene.restsMs).toEqual([0, 1, 0, 1, 0]);
  });

  it('waits for no timer where slices take no time', async () => {
    const scene = new Scene(0);
    expect(await scene.take()).toBe('taken');
    expect(scene.restsMs).toEqual(Array.from({ length: SLICES }, () => 0));
  });
});
