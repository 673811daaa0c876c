/**
 * The real event loop under virtual time: how a run leaves the present turn, and how promises settle within one. The only
 * place of the simulated runtime that touches it.
 */

// As it was when this was loaded: a test runner that fakes timers later must not stop a world.
const { setImmediate } = globalThis; // oxlint-disable-line no-restricted-globals -- a turn of the real loop; no virtual time passes

/** Calls `work` in a turn of the real loop of its own: from a microtask nothing can be drained. */
export function inNextTurn<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
  });
}

/**
 * What runs all ticks and microtasks to their end within the present turn and reports rejections that nothing handles: what
 * Node.js itself does after each callback, at a fraction of the cost of a turn. Undefined where Node.js does not offer it.
 */
export function promiseDrain(): (() => void) | undefined {
  const host = process; // oxlint-disable-line no-restricted-globals -- the queue of ticks and microtasks belongs to the process
  const tickCallback: unknown = Reflect.get(host, '_tickCallback');
  return typeof tickCallback === 'function' ? () => void tickCallback.call(host) : undefined;
}
