/**
 * Reads something of the tree, and again whenever something has changed there: what a recipe waits by. It asks what is, not what happened,
 * so that many changes are one read, and nothing is lost over a change of server, a gap in the history or another session.
 */

import { SessionExpiredError } from '../errors.ts';
import type { Incarnation, Present } from '../incarnations/incarnation.ts';
import type { Nodes, ReadOptions } from '../nodes.ts';

/** Reads with these options, so that what it has seen need not be told. */
export type Read<T> = (nodes: Nodes, options: ReadOptions, incarnation: Incarnation) => Promise<T>;

/** Reads at once, and after each change at or below `path`, until the loop is left. Throws the signal's reason, and what `read` throws. */
export async function* follow<T>(
  present: Present,
  path: string,
  read: Read<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  for (;;) {
    const incarnation = present();
    try {
      yield* followIn(incarnation, path, read, signal);
      return;
    } catch (error) {
      if (!(error instanceof SessionExpiredError) || present() === incarnation) throw error;
    }
  }
}

async function* followIn<T>(
  incarnation: Incarnation,
  path: string,
  read: Read<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const { nodes } = incarnation;
  // A wait has the limits that its caller gives it, and no other: an outage does not end it.
  const limits = { timeoutMs: Number.POSITIVE_INFINITY, ...(signal !== undefined && { signal }) };
  signal?.throwIfAborted();
  const watch = nodes.watch(path, { recursive: true, onMissed: 'resync', ...limits });
  try {
    await watch.started;
    for (;;) {
      let seen = Number.POSITIVE_INFINITY;
      const onAnswer = ({ index }: { readonly index: number }): void => {
        seen = Math.min(seen, index);
      };
      const value = await read(nodes, { consistency: 'session', onAnswer, ...limits }, incarnation);
      if (seen !== Number.POSITIVE_INFINITY) watch.skipTo(seen);
      yield value;
      const next = await watch.next();
      if (next.done === true) return;
    }
  } finally {
    await watch.return();
  }
}
