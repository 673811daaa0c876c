/**
 * Where recipes keep their nodes: `/recipes/KIND/NAME`. The directories are containers, made by whoever needs them first and gone some time
 * after their last child, so that a recipe that nobody uses leaves nothing.
 */

import { encodeLockName, lockNameProblem, parentPath } from '@holdfast/protocol';
import { HoldfastError, InvalidArgumentError, NodeExistsError, NotFoundError, SessionExpiredError } from '../errors.ts';
import type { Incarnation } from '../incarnations/incarnation.ts';
import type { CreateOptions, Nodes } from '../nodes.ts';
import type { NodeData, NodeKindOptions } from '../tree/node-arguments.ts';

const ROOT = '/recipes';
/** A directory can go in the moment in which it gets a child; more often than this in a row it does not. */
const MAX_ATTEMPTS = 5;

/** The name may be anything that can be the name of a lock. @throws InvalidArgumentError */
export function recipePath(kind: string, name: string): string {
  const problem = typeof name === 'string' ? lockNameProblem(name) : 'is not text';
  if (problem !== undefined) throw new InvalidArgumentError(`${kind} name ${JSON.stringify(name)} ${problem}`);
  return `${ROOT}/${kind}/${encodeLockName(name)}`;
}

/** As `nodes.create`, and makes the directories above that are not there. `path` lies below {@link recipePath}, or is one. */
export async function createBelow(
  nodes: Nodes,
  path: string,
  data: NodeData,
  options: CreateOptions,
): Promise<{ readonly path: string; readonly index: number }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const created = await nodes.create(path, data, options);
      return { path: created.path, index: created.stat.czxid };
    } catch (error) {
      if (!(error instanceof NotFoundError) || attempt === MAX_ATTEMPTS) throw error;
      await createDirectory(nodes, parentPath(path), options);
    }
  }
}

/** Without effect where it is. */
export async function createDirectory(
  nodes: Nodes,
  path: string,
  { timeoutMs, signal }: Pick<CreateOptions, 'timeoutMs' | 'signal'>,
): Promise<void> {
  const limits = { ...(timeoutMs !== undefined && { timeoutMs }), ...(signal !== undefined && { signal }) };
  const above: string[] = [];
  for (let at = path; at !== '/'; at = parentPath(at)) above.unshift(at);
  // They leave in one frame, and are applied in this order.
  const createAll = (kind: NodeKindOptions): Promise<unknown> =>
    Promise.all(above.map((each) => unlessThere(nodes.create(each, '', { ...kind, ...limits }))));
  try {
    await createAll({ container: true });
  } catch (error) {
    // An ensemble that is new, or half upgraded, knows no containers yet: then the directories stay.
    if (!(error instanceof HoldfastError) || error.code !== 'UNSUPPORTED') throw error;
    await createAll({});
  }
}

/** A node that is there already is as good as one that was created. */
export async function unlessThere(created: Promise<unknown>): Promise<void> {
  try {
    await created;
  } catch (error) {
    if (!(error instanceof NodeExistsError)) throw error;
  }
}

/** A node that is gone already is as good as one that was deleted. */
export async function unlessGone(deleted: Promise<unknown>): Promise<void> {
  try {
    await deleted;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}

/** What `read` finds, or undefined where there is no such node. */
export async function ifThere<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** No node has it. */
const NO_VERSION = 2 ** 31 - 1;

/**
 * Whether the session of an incarnation is over by now. A client that comes back after an outage may read what is left of its session before
 * it hears that this has ended: whoever misses an ephemeral node of its own asks this first. Rejects with the signal's reason.
 */
export async function hasEnded({ nodes, session }: Incarnation, signal: AbortSignal): Promise<boolean> {
  try {
    // What is asked by the session itself is refused when it is over, and has no effect otherwise.
    await nodes.delete(ROOT, { version: NO_VERSION, timeoutMs: Number.POSITIVE_INFINITY, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SessionExpiredError) return true;
    if (session.over) throw error;
  }
  return false;
}
