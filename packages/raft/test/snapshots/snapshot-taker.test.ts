import type { Clock } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { encodeConfiguration, initialConfiguration, logIndex, serverId, term } from '../../src/core/index.ts';
import { MemoryLogStore } from '../../src/log-store/contract/memory-log-store.ts';
import type { MachineSnapshot } from '../../src/machine.ts';
import { UNTHROTTLED_REST_FACTOR } from '../../src/snapshots/snapshot-options.ts';
import { SnapshotTaker } from '../../src/snapshots/snapshot-taker.ts';

const POSITION = {
  index: logIndex(5),
  term: term(1),
  configuration: encodeConfiguration(initialConfiguration([{ id: serverId(1), peerAddress: 'host:1' }])),
};
const SLICES = 5;
const SLICE_BYTES = 10;

/** A machine whose slices take time; timers end when they are due, and what has no timer goes on at once. */
class Scene {
  nowMs = 0;
  /** For everything else, before each slice but the first. */
  readonly restsMs: number[] = [];
  readonly #sliceMs: number;

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
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
        return left < 0 ? undefined : new Uint8Array(SLICE_BYTES);
      },
      cancel: () => {},
    };
    const parts = {
      store: new MemoryLogStore(),
      clock: this.#clock(),
      sliceBytes: SLICE_BYTES,
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
    expect(scene.restsMs).toEqual(Array.from({ length: SLICES }, () => 4 * UNTHROTTLED_REST_FACTOR));
  });

  it('waits for no timer where slices take no time', async () => {
    const scene = new Scene(0);
    expect(await scene.take()).toBe('taken');
    expect(scene.restsMs).toEqual(Array.from({ length: SLICES }, () => 0));
  });
});
