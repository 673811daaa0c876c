/** A step of the harness that must end: whatever it waits for may hang for ever, and then the run has to say so and be cleared away. */

/** It has not ended in time; nobody knows whether it ever will. */
export class HangError extends Error {
  constructor(what: string, limitMs: number) {
    super(`${what} has not ended within ${limitMs} ms`);
    this.name = 'HangError';
  }
}

/**
 * Undefined when it has not come in so many milliseconds. The harness itself may be held up for longer than that, on a busy machine, and what has
 * come meanwhile came in time: so it is taken before the limit counts.
 */
export async function inTime<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    // Timers are called before what has come in is read.
    timer = setTimeout(() => setImmediate(() => resolve(undefined)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What it came to. What is late is left to itself: an error of it after that is nobody's. @throws HangError */
export async function withinLimit<T>(what: string, limitMs: number, act: () => T | Promise<T>): Promise<T> {
  const done = Promise.resolve(act()).then((value) => ({ value }));
  const come = await inTime(done, limitMs);
  if (come === undefined) throw new HangError(what, limitMs);
  return come.value;
}

/** Each in its turn, whatever became of those before. @returns what went wrong, or undefined */
export async function allOf(
  steps: readonly { readonly what: string; readonly act: () => unknown }[],
  limitMs: number,
): Promise<string | undefined> {
  const problems: string[] = [];
  for (const { what, act } of steps) {
    try {
      await withinLimit(what, limitMs, act);
    } catch (error) {
      problems.push(error instanceof HangError ? error.message : `${what}: ${(error as Error).message}`);
    }
  }
  return problems.length === 0 ? undefined : problems.join('; ');
}
