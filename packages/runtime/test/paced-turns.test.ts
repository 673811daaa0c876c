import { describe, expect, it } from 'vitest';
import type { Clock, Timer } from '../src/index.ts';
import { MAX_REST_MS, PACED_TURN_MS, PacedTurns, REST_FACTOR } from '../src/paced-turns.ts';

/** A loop whose turns the test makes, and whose time passes while something works. */
class Loop implements Clock {
  nowMs = 0;
  #checks: (() => void)[] = [];
  #timers: { readonly dueMs: number; readonly callback: () => void }[] = [];

  monotonicMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.nowMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: this.nowMs + delayMs, callback };
    this.#timers.push(timer);
    return { cancel: () => (this.#timers = this.#timers.filter((each) => each !== timer)) };
  }

  afterPoll(callback: () => void): void {
    this.#checks.push(callback);
  }

  turn(): void {
    for (const timer of this.#timers.filter(({ dueMs }) => dueMs <= this.nowMs)) {
      this.#timers = this.#timers.filter((each) => each !== timer);
      timer.callback();
    }
    for (const check of this.#checks.splice(0)) check();
  }
}

describe('work that is paced', () => {
  it('is done for a while in a turn, and then leaves the loop to everything else for longer', () => {
    const loop = new Loop();
    const turns = new PacedTurns(loop);
    let done = 0;
    const work = (): void => {
      done += 1;
      loop.nowMs += 1;
    };
    for (let n = 0; n < 1_000; n += 1) turns.add(work);
    loop.turn();
    expect(done).toBe(PACED_TURN_MS);
    while (loop.nowMs < 1_000) {
      const before = done;
      loop.turn();
      expect(done - before).toBeLessThanOrEqual(PACED_TURN_MS);
      loop.nowMs += 0.5;
    }
    expect(done).toBeGreaterThan(150);
    expect(done).toBeLessThanOrEqual(Math.ceil(1_000 / (1 + REST_FACTOR)) + PACED_TURN_MS);
  });

  it('leaves the loop to everything else although it asks for more of its kind', () => {
    const loop = new Loop();
    const turns = new PacedTurns(loop);
    let done = 0;
    const work = (): void => {
      done += 1;
      loop.nowMs += 1;
      turns.add(work);
    };
    turns.add(work);
    while (loop.nowMs < 1_000) {
      loop.turn();
      loop.nowMs += 0.5;
    }
    expect(done).toBeGreaterThan(100);
    expect(done).toBeLessThanOrEqual(Math.ceil(1_000 / (1 + REST_FACTOR)) + PACED_TURN_MS);
  });

  it('goes on soon after a single piece that took long', () => {
    const loop = new Loop();
    const turns = new PacedTurns(loop);
    let done = false;
    turns.add(() => (loop.nowMs += 500));
    turns.add(() => (done = true));
    loop.turn();
    loop.nowMs += MAX_REST_MS;
    loop.turn();
    expect(done).toBe(true);
  });

  it('is done in the order in which it came, and not after a stop', () => {
    const loop = new Loop();
    const turns = new PacedTurns(loop);
    const done: number[] = [];
    turns.add(() => {
      done.push(1);
      turns.add(() => done.push(3));
    });
    turns.add(() => done.push(2));
    loop.turn();
    loop.turn();
    expect(done).toEqual([1, 2, 3]);
    turns.add(() => done.push(4));
    turns.stop();
    loop.turn();
    expect(done).toEqual([1, 2, 3]);
  });
});
