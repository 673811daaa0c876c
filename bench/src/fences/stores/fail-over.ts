/** `kill -9` of the primary to the first acknowledged write that began after it, through a client that follows the group by watch. */

import { setTimeout as sleep } from 'node:timers/promises';

import { connect } from '@holdfast/client';
import { FencedKv, FencedKvError, type Bucket } from '@holdfast/fenced-kv-client';

import { GROUP, ReplicaGroup } from './replica-group.ts';

/** The least that a group allows, and a removal that does not keep it waiting. */
const SETTINGS = { sessionTimeoutMs: 1_000, removalMs: 300 };
/** A median and a worst of fewer say little: the session ends at any time of its renewal. */
export const FAIL_OVER_TRIALS = 10;
const WRITERS = 4;
const TOKEN = 5;
const CLIENT_SESSION_MS = 30_000;
const CALL_TIMEOUT_MS = 30_000;
const RETRY_MS = 5;
/** A group that is in a steady state fails over as one does that has run for long. */
const STEADY_MS = 1_500;

export async function timeFailOvers(directory: string, report: (ms: number) => void): Promise<void> {
  const group = await ReplicaGroup.start(directory, SETTINGS);
  const client = await connect({ servers: group.ensemble.addresses, sessionTimeoutMs: CLIENT_SESSION_MS });
  const kv = new FencedKv(group.urls, {
    timeoutMs: CALL_TIMEOUT_MS,
    follow: { nodes: client.nodes, group: GROUP },
  });
  try {
    const writers = new Writers(await kv.bucket('jobs').fencedBy({ token: TOKEN }));
    for (let trial = 0; trial < FAIL_OVER_TRIALS; trial += 1) {
      await group.allInSync();
      await sleep(STEADY_MS);
      const primary = await group.primary();
      const firstWrite = writers.firstBegunFromNow();
      primary.process.kill();
      report(await firstWrite);
      await primary.process.gone();
      primary.process.launch();
    }
    await writers.stop();
  } finally {
    kv.close();
    await client.close();
    await group.stop();
  }
}

/** They write without pause. What has an unknown outcome, or is to be tried again, is followed by another write. */
class Writers {
  readonly #bucket: Bucket;
  readonly #loops: readonly Promise<void>[];
  #stopped = false;
  #since = Infinity;
  #found: (ms: number) => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
    this.#loops = Array.from({ length: WRITERS }, (_, writer) => this.#loop(`${writer}`));
  }

  /** Milliseconds until the first acknowledged one that begins after this call. */
  async firstBegunFromNow(): Promise<number> {
    return await new Promise((resolve, reject) => {
      this.#found = resolve;
      this.#failed = reject;
      this.#since = performance.now();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #loop(key: string): Promise<void> {
    while (!this.#stopped) {
      const begun = performance.now();
      try {
        await this.#bucket.put(key, 'value');
        if (begun > this.#since) this.#found(performance.now() - this.#since);
      } catch (error) {
        if (!(error instanceof FencedKvError && (error.indeterminate || error.retryable))) {
          this.#failed(error);
          return;
        }
        await sleep(RETRY_MS);
      }
    }
  }
}
