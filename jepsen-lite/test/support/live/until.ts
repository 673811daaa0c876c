import { setTimeout as delay } from 'node:timers/promises';

/** For what never comes; a busy machine is slow. */
const LIMIT_MS = 60_000;
const AGAIN_MS = 10;

/** Waits, with a bound, for what nothing tells of by itself. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${LIMIT_MS} ms: ${what}`);
    await delay(AGAIN_MS);
  }
}
