/** A follower of a bucket over kill -9 of the store: it goes on by itself, and is told each revision once, or that it has missed some. */

import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ChangesMissedError, FencedKv, FencedKvError } from '@holdfast/fenced-kv-client';
import type { Bucket, RevisionChanges } from '@holdfast/fenced-kv-client';
import { serve } from './daemon.ts';
import { eachInDirectory } from './scratch.ts';

const KILLS = 3;
const WRITERS = 4;

let data: string;

eachInDirectory((directory) => {
  data = join(directory, 'data');
});

/** Until the server is there again. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FencedKvError && error.retryable)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

class Follower {
  readonly told: RevisionChanges[] = [];
  /** Where it has begun, and begun anew. */
  readonly begun: number[] = [];
  last: number;
  readonly #end = new AbortController();
  readonly #running: Promise<void>;

  constructor(bucket: Bucket, from: number) {
    this.last = from;
    this.begun.push(from);
    this.#running = this.#follow(bucket);
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #follow(bucket: Bucket): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        for await (const change of bucket.changes({ from: this.last, signal })) {
          this.told.push(change);
          this.last = change.revision;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ChangesMissedError) {
          this.last = (await patiently(async () => await bucket.info()))?.revision ?? 0;
          this.begun.push(this.last);
        } else if (!(error instanceof FencedKvError && error.retryable)) throw error;
      }
    }
  }
}

describe('a follower of a bucket whose store is killed', () => {
  it('is told each revision once, in order, of what was written, and goes on where nothing was missed', async () => {
    let server = await serve(data);
    const { host } = new URL(server.url);
    const kv = new FencedKv(server.url);
    const bucket = await kv.bucket('b').fencedBy({ token: 1 });
    const acknowledged = new Map<number, string>();
    const follower = new Follower(kv.bucket('b'), 0);
    let key = 0;
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const before = follower.told.length;
      let writing = true;
      const writer = async (): Promise<void> => {
        while (writing) {
          const name = `k${(key += 1)}`;
          acknowledged.set((await bucket.put(name, 'v')).revision, name);
        }
      };
      const ended = Promise.allSettled(Array.from({ length: WRITERS }, writer));
      await expect.poll(() => follower.told.length, { timeout: 60_000 }).toBeGreaterThan(before + 50);
      await server.stop('SIGKILL');
      writing = false;
      await ended;
      server = await serve(data, { listen: host });
    }
    // Now one after another, so that nothing is under way at the kill.
    await expect.poll(async () => follower.last === (await bucket.info())?.revision, { timeout: 60_000 }).toBe(true);
    const { last } = follower;
    const begun = follower.begun.length;
    await server.stop('SIGKILL');
    server = await serve(data, { listen: host });
    const { revision } = await bucket.put('end', 'v');
    acknowledged.set(revision, 'end');
    await expect.poll(() => follower.last, { timeout: 60_000 }).toBe(revision);
    await follower.stop();
    expect([revision, follower.begun.length]).toEqual([last + 1, begun]);

    for (const [index, { revision: told, changes }] of follower.told.entries()) {
      const previous = follower.told[index - 1]?.revision ?? 0;
      if (told !== previous + 1) expect(follower.begun, `${told} behind ${previous}`).toContain(told - 1);
      expect(told).toBeGreaterThan(previous);
      const written = acknowledged.get(told);
      if (written !== undefined) expect(changes).toEqual([{ type: 'put', key: written, bytes: 1 }]);
    }
    expect(follower.begun.length).toBeLessThanOrEqual(1 + KILLS);
    await server.stop('SIGTERM');
  });
});
