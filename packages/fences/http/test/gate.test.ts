import { StaleTokenError } from '@holdfast/fence';
import { describe, expect, it } from 'vitest';
import { Gate } from '../src/gate.ts';
import { memoryFloors, type FloorStore } from '../src/index.ts';

const WAIT_MS = 10_000;

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Whether it is still pending when everything that can go on has done so. */
async function waits(call: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const mark = (): void => {
    settled = true;
  };
  call.then(mark, mark);
  await new Promise((resolve) => setImmediate(resolve));
  return !settled;
}

describe('the gate of a scope', () => {
  it('lets those of one token in at once, and a newer one behind them', async () => {
    const gate = new Gate(memoryFloors());
    const first = await gate.enter('jobs', { token: 5 }, WAIT_MS);
    const second = await gate.enter('jobs', { token: 5 }, WAIT_MS);
    const newer = gate.enter('jobs', { token: 7 }, WAIT_MS);
    expect(await waits(newer)).toBe(true);
    expect([first, second].map(({ fenced }) => fenced.signal.aborted)).toEqual([true, true]);
    first.leave();
    expect(await waits(newer)).toBe(true);
    second.leave();
    const { fenced } = await newer;
    expect(fenced).toMatchObject({ scope: 'jobs', token: 7, floor: 7 });
    expect(fenced.signal.aborted).toBe(false);
    expect(await failureOf(gate.enter('jobs', { token: 5 }, WAIT_MS))).toBeInstanceOf(StaleTokenError);
  });

  it('judges whoever comes behind a newer one that waits after it', async () => {
    const gate = new Gate(memoryFloors());
    const first = await gate.enter('jobs', { token: 5 }, WAIT_MS);
    const newer = gate.enter('jobs', { token: 7 }, WAIT_MS);
    const late = failureOf(gate.enter('jobs', { token: 5 }, WAIT_MS));
    expect(await waits(late)).toBe(true);
    first.leave();
    await newer;
    expect(await late).toMatchObject({ token: 5, highest: 7 });
  });

  it('does not keep those apart who share a floor', async () => {
    const gate = new Gate(memoryFloors());
    await gate.enter('jobs', { token: 5, floor: 5 }, WAIT_MS);
    await gate.enter('jobs', { token: 9, floor: 5 }, WAIT_MS);
    const { fenced } = await gate.enter('jobs', { token: 7, floor: 5 }, WAIT_MS);
    expect(fenced.signal.aborted).toBe(false);
  });

  it('gives up a wait that takes too long, and raises nothing', async () => {
    const floors = memoryFloors();
    const gate = new Gate(floors);
    const first = await gate.enter('jobs', { token: 5 }, WAIT_MS);
    expect(await failureOf(gate.enter('jobs', { token: 7 }, 20))).toMatchObject({ code: 'TIMEOUT', retryable: true });
    expect(await floors.highest('jobs')).toBe(5);
    first.leave();
    await gate.enter('jobs', { token: 5 }, WAIT_MS);
  });

  it('lets nobody in while the store of floors fails, and goes on when it works again', async () => {
    let broken = true;
    const memory = memoryFloors();
    const floors: FloorStore = {
      ...memory,
      raise: async (scope, holder) => {
        if (broken) throw new RangeError('disk');
        await memory.raise(scope, holder);
      },
    };
    const gate = new Gate(floors);
    expect(await failureOf(gate.enter('jobs', { token: 5 }, WAIT_MS))).toBeInstanceOf(RangeError);
    broken = false;
    await gate.enter('jobs', { token: 5 }, WAIT_MS);
  });

  it('is of one scope', async () => {
    const gate = new Gate(memoryFloors({ maxScopes: 2 }));
    await gate.enter('jobs', { token: 9 }, WAIT_MS);
    await gate.enter('mail', { token: 5 }, WAIT_MS);
    expect(await failureOf(gate.enter('more', { token: 5 }, WAIT_MS))).toMatchObject({ code: 'RESOURCE' });
  });
});
