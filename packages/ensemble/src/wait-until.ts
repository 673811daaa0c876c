/** Waits for a condition with a bound. */

const POLL_MS = 25;

/** Resolves with the first defined result of `attempt`, or with undefined when `timeoutMs` have passed. */
export async function waitUntil<T>(attempt: () => Promise<T | undefined>, timeoutMs: number): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const result = await attempt();
    if (result !== undefined) return result;
    if (performance.now() >= deadline) return undefined;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
