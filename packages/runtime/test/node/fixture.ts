import type { Fixture } from '../compliance/fixture.ts';

const BOUND_MS = 10_000;

export async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + BOUND_MS;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${BOUND_MS} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

export function nodeFixture(teardown: () => Promise<void> = () => Promise.resolve()): Fixture {
  return { complete: (promise) => promise, until, teardown };
}
