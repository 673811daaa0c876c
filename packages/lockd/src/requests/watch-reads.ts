/**
 * The read that a watch message asks for beside its watches. It takes its turn among all reads: it waits for what its consistency demands,
 * and long listings are put in order in slices. Then the nodes are watched, and it is answered, in one step.
 */

import type { Query } from '@holdfast/protocol';
import type { SessionClient } from '../port/session-client.ts';
import type { WatchRequest } from '../port/session-port.ts';
import type { ReadRefusal, Reads } from './reads.ts';

const OF_ONE_NODE: ReadonlySet<Query['type']> = new Set(['get', 'exists', 'children', 'childrenPage']);

/** What is wrong with the read, and what to do; undefined for nothing. */
export function readProblem({ read, nodes }: WatchRequest): string | undefined {
  if (read === undefined) return undefined;
  const { query } = read;
  if (!OF_ONE_NODE.has(query.type) || !('path' in query))
    return `${query.type} is no read of a watched node; ask for ${[...OF_ONE_NODE].join(', ')}, or ask by itself`;
  if (nodes.some(({ path }) => path === query.path)) return undefined;
  return `the read is of ${JSON.stringify(query.path.slice(0, 100))}, which the message does not watch; read a node that it watches`;
}

/** Calls back when the nodes are to be watched: at once where nothing is read. */
export function inTurn(
  reads: Pick<Reads, 'inTurn'>,
  client: SessionClient,
  { read, minIndex }: WatchRequest,
  done: (refusal: ReadRefusal | undefined) => void,
): void {
  if (read === undefined) done(undefined);
  else reads.inTurn(client, { ...read, minIndex }, done);
}

/** What a message that waits keeps of it, about. */
export function readBytes({ read }: WatchRequest): number {
  return read?.query.type === 'childrenPage' ? 2 * read.query.after.length : 0;
}
