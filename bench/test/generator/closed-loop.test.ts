import { describe, expect, it } from 'vitest';

import { ClosedLoops, cycle, loopsOf } from '../../src/generator/closed-loop.ts';
import type { RawSession } from '../../src/generator/raw-session.ts';

/** Answers in a later turn, and counts what is under way. */
class FakeSession {
  underWay = 0;
  most = 0;
  calls: string[] = [];
  readonly watch = undefined;

  acquire(lock: string, granted: () => void): void {
    this.#answer(`acquire ${lock}`, granted);
  }

  release(done: () => void): void {
    this.#answer('release', done);
  }

  write(node: string, _data: Uint8Array, done: () => void): void {
    this.#answer(`write ${node}`, done);
  }

  transaction(nodes: readonly string[], _data: Uint8Array, done: () => void): void {
    this.#answer(`transaction ${nodes.join(' ')}`, done);
  }

  #answer(call: string, done: () => void): void {
    this.calls.push(call);
    this.underWay += 1;
    this.most = Math.max(this.most, this.underWay);
    setImmediate(() => {
      this.underWay -= 1;
      done();
    });
  }
}

const data = new Uint8Array(1);

describe('closed loops', () => {
  it('keep as many operations under way as told, and none after the window', async () => {
    const session = new FakeSession();
    const target = { lock: 'a', nodes: ['/n'], data, outstanding: 7 };
    const loops = new ClosedLoops(loopsOf('writes', session as unknown as RawSession, target));
    const { operations, allOperations, p50Ms } = await loops.window(1, 20);
    expect(session.most).toBe(7);
    expect(session.underWay).toBe(0);
    expect(operations).toBeGreaterThan(0);
    expect(allOperations).toBe(session.calls.length);
    expect(operations).toBeLessThanOrEqual(allOperations);
    expect(p50Ms).toBeGreaterThan(0);
  });

  it('set all nodes of the session in each transaction, and one of them in each write', async () => {
    const session = new FakeSession();
    const target = { lock: '', nodes: ['/n', '/m'], data, outstanding: 1 };
    for (const work of ['transactions', 'writes'] as const) {
      await new ClosedLoops(loopsOf(work, session as unknown as RawSession, target)).window(0, 1);
    }
    expect(new Set(session.calls)).toEqual(new Set(['transaction /n /m', 'write /n']));
  });

  it('run again after a window, and end each cycle with its release', async () => {
    const session = new FakeSession();
    const loops = new ClosedLoops([cycle(session as unknown as RawSession, 'a')]);
    const first = await loops.window(0, 10);
    const second = await loops.window(0, 10);
    expect(session.calls.slice(0, 3)).toEqual(['acquire a', 'release', 'acquire a']);
    expect(session.calls.at(-1)).toBe('release');
    expect(session.calls.length).toBe(2 * (first.allOperations + second.allOperations));
  });
});
