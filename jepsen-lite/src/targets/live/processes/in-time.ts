/**
 * Limits on how long the harness waits for somebody. The harness itself may be held up for longer than that, on a busy machine, and what has come
 * meanwhile came in time: so it is taken before the limit counts.
 */

/** Undefined when it has not come in so many milliseconds. */
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
