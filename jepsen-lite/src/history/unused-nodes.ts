/**
 * Nodes that go when nobody uses them: those with a time to live, and containers. Each call that creates one does so under a name of its
 * own, so that what has gone never comes back.
 */

export const LIMITED_PARENT = '/limited';
export const CONTAINER_PARENT = '/containers';
/** How long a container is empty before it goes, in every run. */
export const CONTAINER_CHECK_MS = 1_000;

/** The node of that parent that the path is of, or is below of; undefined for any other path. */
export function nodeBelow(parent: string, path: string): string | undefined {
  if (!path.startsWith(`${parent}/`)) return undefined;
  const end = path.indexOf('/', parent.length + 1);
  return end === -1 ? path : path.slice(0, end);
}
