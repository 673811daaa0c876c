/**
 * Notices that the harness stands still: a call of its main thread that waits for a disk which only that thread could thaw never returns,
 * and no limit of its own can strike then. A thread beside it thaws all disks of this harness, says in which step that was, and ends the
 * process when that does not help. What is left then the next harness removes.
 */

import { Worker } from 'node:worker_threads';
import { builtLiveFile } from '../processes/built.ts';

/** How often the main thread shows that it goes on. */
const BEAT_MS = 500;

export interface StillnessOptions {
  /** It went on after so many seconds, since its disks were thawed. */
  readonly stood: (seconds: number) => void;
  /** Without a sign, until the disks are thawed; the same again until the process ends. @default 120 */
  readonly limitSeconds?: number;
}

export interface WatcherData {
  readonly beats: SharedArrayBuffer;
  readonly limitSeconds: number;
  /** Below which this harness has its disks. */
  readonly disks: string;
}

export class StillnessWatch {
  readonly #worker: Worker;
  readonly #timer: NodeJS.Timeout;

  /** @param disks where the directories of disks are */
  constructor(disks: string, { stood, limitSeconds = 120 }: StillnessOptions) {
    const beats = new SharedArrayBuffer(4);
    const view = new Int32Array(beats);
    const workerData: WatcherData = { beats, limitSeconds, disks };
    this.#worker = new Worker(builtLiveFile('stillness/watcher.js'), { workerData });
    this.#worker.on('message', stood);
    this.#worker.unref();
    this.#timer = setInterval(() => Atomics.add(view, 0, 1), BEAT_MS);
    this.#timer.unref();
  }

  /** For whoever reads why it stood. */
  enter(step: string): void {
    this.#worker.postMessage(step);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker.terminate();
  }
}
