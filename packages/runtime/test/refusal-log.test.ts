import { describe, expect, it } from 'vitest';
import { MAX_LOGGED_REFUSALS, MAX_REFUSAL_TEXT_LENGTH, RefusalLog, silentLogger, type Logger } from '../src/index.ts';

/** Time by hand, and the lines so far. */
class Scene {
  readonly lines: Record<string, unknown>[] = [];
  readonly log: RefusalLog;
  nowMs = 0;
  #timers: { readonly dueMs: number; readonly run: () => void }[] = [];

  constructor() {
    const clock = {
      monotonicMs: () => this.nowMs,
      setTimer: (delayMs: number, run: () => void) => {
        const timer = { dueMs: this.nowMs + delayMs, run };
        this.#timers.push(timer);
        return { cancel: () => (this.#timers = this.#timers.filter((other) => other !== timer)) };
      },
    };
    const logger: Logger = { ...silentLogger, warn: (fields, message) => this.lines.push({ ...fields, message }) };
    this.log = new RefusalLog('refused a guest', { clock, logger });
  }

  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** The refusals that the lines tell of. */
  get told(): number {
    return this.lines.reduce((sum, { count }) => sum + (typeof count === 'number' ? count : 1), 0);
  }

  advance(ms: number): void {
    const end = this.nowMs + ms;
    for (;;) {
      const due = this.#timers.toSorted((a, b) => a.dueMs - b.dueMs)[0];
      if (due === undefined || due.dueMs > end) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.nowMs = due.dueMs;
      due.run();
    }
    this.nowMs = end;
  }
}

describe('the log of refusals', () => {
  it('tells of the first at once, and of its repeats from any port in one line a second', () => {
    const scene = new Scene();
    for (let ms = 0; ms < 5_000; ms += 1) {
      scene.log.refused('malformed hello', `192.0.2.1:${ms}`, 'it ends early', { peer: 7 });
      scene.advance(1);
    }
    scene.advance(2_000);
    expect(scene.lines[0]).toEqual({
      message: 'refused a guest',
      reason: 'malformed hello',
      remoteAddress: '192.0.2.1:0',
      problem: 'it ends early',
      peer: 7,
    });
    const again = { message: 'refused a guest, again', reason: 'malformed hello', remoteAddress: '192.0.2.1' };
    expect(scene.lines[1]).toEqual({ ...again, count: 999 });
    expect(scene.lines).toHaveLength(6);
    expect(scene.told).toBe(5_000);
  });

  it('tells the last count of a burst, and then leaves no timer behind', () => {
    const scene = new Scene();
    for (let n = 0; n < 3; n += 1) scene.log.refused('malformed hello', 'a:1');
    scene.advance(999);
    expect(scene.lines).toHaveLength(1);
    scene.advance(1);
    expect(scene.lines.at(-1)).toMatchObject({ count: 2 });
    expect(scene.pendingTimers).toBe(1);
    scene.advance(1_000);
    expect(scene.lines).toHaveLength(2);
    expect(scene.pendingTimers).toBe(0);
    scene.log.refused('malformed hello', 'a:2');
    expect(scene.lines).toHaveLength(3);
  });

  it('keeps reasons and addresses apart', () => {
    const scene = new Scene();
    scene.log.refused('malformed hello', '[::1]:5');
    scene.log.refused('wrong cluster', '[::1]:6');
    scene.log.refused('malformed hello', '[::2]:7');
    scene.log.refused('malformed hello', '[::1]:8');
    expect(scene.lines.map(({ remoteAddress }) => remoteAddress)).toEqual(['[::1]:5', '[::1]:6', '[::2]:7']);
  });

  it('counts what is beyond its table in one line of others, so that a thousand addresses make few lines', () => {
    const scene = new Scene();
    for (let n = 0; n < 10_000; n += 1) scene.log.refused('malformed hello', `192.0.${n % 1_000}:1`);
    scene.advance(3_000);
    expect(scene.lines).toHaveLength(2 * MAX_LOGGED_REFUSALS + 1);
    expect(scene.lines.filter(({ reason }) => reason === 'others')).toEqual([
      {
        message: 'refused a guest, and more than are listed',
        reason: 'others',
        count: 10 * (1_000 - MAX_LOGGED_REFUSALS),
      },
    ]);
    expect(scene.told).toBe(10_000);
    expect(scene.pendingTimers).toBe(0);
  });

  it('cuts what it quotes', () => {
    const scene = new Scene();
    scene.log.refused('wrong cluster', 'a:1', 'x'.repeat(10_000));
    expect(scene.lines[0]?.['problem']).toHaveLength(MAX_REFUSAL_TEXT_LENGTH);
  });

  it('writes what it has counted when it is stopped', () => {
    const scene = new Scene();
    scene.log.refused('malformed hello', 'a:1');
    scene.log.refused('malformed hello', 'a:1');
    scene.log.stop();
    expect(scene.told).toBe(2);
    expect(scene.pendingTimers).toBe(0);
  });
});
