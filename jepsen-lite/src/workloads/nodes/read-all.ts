/** What every client reads in the end: everything that there has been in the run. */

/** Under way together: the thousands of nodes of an hour, one after another, would take longer than a run may go on. */
const AT_ONCE = 16;

/** Calls `read` with each of them, some at once, in their order. */
export async function readAll<T>(all: readonly T[], read: (one: T) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE) await Promise.all(all.slice(from, from + AT_ONCE).map(read));
}
