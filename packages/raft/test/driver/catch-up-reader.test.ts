import type { Clock } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { CATCH_UP_REST_FACTOR, CatchUpReader, MAX_CATCH_UP_REST_MS } from '../../src/driver/catch-up-reader.ts';
import { EntryType, logIndex, serverId, term, type Effect, type Entry } from '../../src/core/index.ts';

type ReadEntries = Extract<Effect, { type: 'read-entries' }>;

const IN_MEMORY_FROM = 50;

function entry(index: number): Entry {
  return { index: logIndex(index), term: term(1), type: EntryType.command, data: new Uint8Array(10) };
}

function wish(peer: number, from: number, urgent = false): ReadEntries {
  const range = { from: logIndex(from), to: logIndex(100), maxBytes: 10 };
  return { type: 'read-entries', peer: serverId(peer), term: term(1), ...range, urgent };
}

/** Each of a turn's entries-read events is handed over at once; the test says when the turn ends and what it took. */
class Scene {
  /** What reads from disk fail with. */
  diskError: Error | undefined;
  readonly failures: unknown[] = [];
  nowMs = 1_000;
  readonly fed: string[] = [];
  readonly catchUp: CatchUpReader;
  #timers: { readonly atMs: number; readonly run: () => void }[] = [];

  constructor() {
    const clock: Clock = {
      monotonicMs: () => this.nowMs,
      wallMs: () => this.nowMs,
      afterPoll: (run) => run(),
      setTimer: (delayMs, run) => {
        const timer = { atMs: this.nowMs + delayMs, run };
        this.#timers.push(timer);
        return { cancel: () => (this.#timers = this.#timers.filter((each) => each !== timer)) };
      },
    };
    this.catchUp = new CatchUpReader({
      store: {
        read: async (from) => {
          if (this.diskError !== undefined) throw this.diskError;
          return [entry(from)];
        },
      },
      clock,
      fromMemory: (from) => (from < IN_MEMORY_FROM ? undefined : [entry(from), entry(from + 1)]),
      event: (event) => {
        if (event.type === 'entries-read')
          this.fed.push(`${event.peer}:${event.entries.map(({ index }) => index).join()}`);
      },
      failed: (error) => this.failures.push(error),
    });
  }

  get timers(): number {
    return this.#timers.length;
  }

  async takeFed(): Promise<string[]> {
    await new Promise((resolve) => setImmediate(resolve));
    expect(this.failures).toEqual(this.diskError === undefined ? [] : [this.diskError]);
    return this.fed.splice(0);
  }

  async pass(ms: number): Promise<string[]> {
    this.nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.nowMs);
    this.#timers = this.#timers.filter(({ atMs }) => atMs > this.nowMs);
    for (const { run } of due) run();
    return this.takeFed();
  }
}

describe('what lagging peers are fed', () => {
  it('comes from memory as far as it is there, else from disk', async () => {
    const scene = new Scene();
    scene.catchUp.wanted(wish(2, 7));
    expect(await scene.takeFed()).toEqual(['2:7']);
    scene.catchUp.endTurn(0);
    scene.catchUp.wanted(wish(2, 60));
    expect(await scene.takeFed()).toEqual(['2:60,61']);
  });

  it('waits after each piece for longer than the turn took that sent it', async () => {
    const scene = new Scene();
    scene.catchUp.wanted(wish(2, 1));
    expect(await scene.takeFed()).toEqual(['2:1']);
    scene.catchUp.wanted(wish(2, 2));
    scene.nowMs += 3;
    scene.catchUp.endTurn(3);
    expect(await scene.pass(3 * CATCH_UP_REST_FACTOR - 1)).toEqual([]);
    expect(await scene.pass(1)).toEqual(['2:2']);
  });

  it('is waited for with one timer, however many ask meanwhile', async () => {
    const scene = new Scene();
    scene.catchUp.wanted(wish(2, 1));
    await scene.takeFed();
    scene.catchUp.endTurn(1_000);
    for (const peer of [2, 3, 4]) scene.catchUp.wanted(wish(peer, 2));
    expect(scene.timers).toBe(1);
    scene.catchUp.stop();
    expect(scene.timers).toBe(0);
  });

  it('comes first and without rests when nothing can be committed without it', async () => {
    const scene = new Scene();
    scene.catchUp.wanted(wish(2, 1));
    expect(await scene.takeFed()).toEqual(['2:1']);
    scene.catchUp.endTurn(1_000);
    scene.catchUp.wanted(wish(2, 2));
    expect(await scene.takeFed()).toEqual([]);
    for (const from of [3, 4, 5]) {
      scene.catchUp.wanted(wish(3, from, true));
      expect(await scene.takeFed()).toEqual([`3:${from}`]);
      scene.catchUp.endTurn(1_000);
    }
    expect(await scene.takeFed()).toEqual([]);
    expect(await scene.pass(MAX_CATCH_UP_REST_MS)).toEqual(['2:2']);
  });

  it('does not wait for long because a turn was long for other reasons', async () => {
    const scene = new Scene();
    scene.catchUp.wanted(wish(2, 1));
    await scene.takeFed();
    scene.catchUp.wanted(wish(2, 2));
    scene.catchUp.endTurn(1_000);
    expect(await scene.pass(MAX_CATCH_UP_REST_MS)).toEqual(['2:2']);
  });

  it('is one piece a turn for all peers together, in the order in which they asked', async () => {
    const scene = new Scene();
    for (const peer of [2, 3, 4]) scene.catchUp.wanted(wish(peer, peer));
    expect(await scene.takeFed()).toEqual(['2:2']);
    // A turn that ends with nothing of it sent yet changes nothing.
    expect(await scene.pass(1_000)).toEqual([]);
    scene.catchUp.endTurn(0);
    expect(await scene.takeFed()).toEqual(['3:3']);
    scene.catchUp.endTurn(0);
    expect(await scene.takeFed()).toEqual(['4:4']);
  });

  it('is never something else than what was asked for: a disk that fails to read stops the server [read-error-sends-prev-none-with-entries]', async () => {
    const scene = new Scene();
    scene.diskError = new Error('a sector is gone');
    scene.catchUp.wanted(wish(2, 7));
    scene.catchUp.wanted(wish(3, 60));
    expect(await scene.takeFed()).toEqual([]);
    scene.catchUp.endTurn(0);
    expect(await scene.pass(1_000)).toEqual([]);
  });

  it('ends when the server stops', async () => {
    const scene = new Scene();
    scene.catchUp.wanted(wish(2, 1));
    scene.catchUp.wanted(wish(3, 1));
    scene.catchUp.stop();
    scene.catchUp.endTurn(0);
    expect(await scene.pass(1_000)).toEqual([]);
  });
});
