/** A lock's name and the container that it gives: the general rules are the protocol's; common names take a short way to the same result. */

import { encodeLockName, lockNameProblem, MAX_LOCK_NAME_LENGTH, sequenceSuffix } from '@holdfast/protocol';

const QUEUE_NODE_PREFIX = 'q-';
const MAX_SEQUENCE_DIGITS = 16;
export const MAX_QUEUE_NODE_NAME_LENGTH = QUEUE_NODE_PREFIX.length + MAX_SEQUENCE_DIGITS;
/**
 * A number of its own, below what a path leaves. So the names that a lock may have depend neither on how long paths may be nor on
 * where its container is. Every queue node can be named by its path.
 */
export const MAX_CONTAINER_NAME_LENGTH = 960;

/** Undefined for a usable name; otherwise what is wrong with it. */
export function lockProblem(name: string): string | undefined {
  if (name.length <= MAX_LOCK_NAME_LENGTH && isPlain(name)) return undefined;
  const problem = lockNameProblem(name);
  if (problem !== undefined) return problem;
  return encodeLockName(name).length > MAX_CONTAINER_NAME_LENGTH
    ? `longer than ${MAX_CONTAINER_NAME_LENGTH} characters when encoded for a path`
    : undefined;
}

/** The name of a usable lock's container. */
export function containerName(lock: string): string {
  if (!isPlain(lock) || lock === '.' || lock === '..') return encodeLockName(lock);
  return lock.includes('/') ? lock.replaceAll('/', '%2F') : lock;
}

/** An idle lock leaves nothing behind, so that nearly all have these. */
const FIRST_QUEUE_NODES = Array.from({ length: 64 }, (_, sequence) => QUEUE_NODE_PREFIX + sequenceSuffix(sequence));

/** The name of the queue node with that number. */
export function queueNodeName(sequence: number): string {
  return FIRST_QUEUE_NODES[sequence] ?? QUEUE_NODE_PREFIX + sequenceSuffix(sequence);
}

/** The inverse; undefined for what is no queue node's name. */
export function queueNodeSequence(name: string): number | undefined {
  const sequence = Number(name.slice(QUEUE_NODE_PREFIX.length));
  return Number.isSafeInteger(sequence) && queueNodeName(sequence) === name ? sequence : undefined;
}

const PERCENT = 0x25;

/** Printable ASCII but for "%": always valid, and of it only "/" is encoded, but for the names "." and "..". */
function isPlain(name: string): boolean {
  for (let at = 0; at < name.length; at += 1) {
    const unit = name.charCodeAt(at);
    if (unit < 0x20 || unit >= 0x7f || unit === PERCENT) return false;
  }
  return name !== '';
}
