/** What callers say of nodes, checked before anything is sent: each refusal says what was wrong, with what, and what is accepted. */

import {
  createMode,
  createModeOf,
  MAX_DATA_BYTES,
  MAX_TTL_MS,
  MIN_TTL_MS,
  pathProblem,
  type CreateModeNumber,
} from '@holdfast/protocol';
import { InvalidArgumentError, LimitExceededError } from '../errors.ts';

/**
 * Text is encoded as UTF-8; `null` is no data at all, which is not the same as empty data.
 *
 * @example
 * await client.nodes.set('/config', new TextEncoder().encode('new'));
 */
export type NodeData = Uint8Array | string | null;

/**
 * Which kind of node is created; a plain one without any of them.
 *
 * @example
 * await client.nodes.create('/cache', 'value', { ttlMs: 60_000 });
 */
export interface NodeKindOptions {
  /** Goes with this client's session, and has no children. @default false */
  readonly ephemeral?: boolean;
  /** The ensemble appends a ten-digit counter of the parent to the name. @default false */
  readonly sequential?: boolean;
  /**
   * Goes some time after its last child has gone (the servers' `--container-check-ms`). One that never had a child stays. Creating a child
   * may find it gone: create it again then. Neither ephemeral nor sequential. @default false
   */
  readonly container?: boolean;
  /**
   * Goes when it has had no children and no change of its data for so long, a little later rather than sooner. From 1 to 2^40 − 1; not
   * together with `ephemeral` or `container`. @default none
   */
  readonly ttlMs?: number;
}

/**
 * Which version the node must have.
 *
 * @example
 * await client.nodes.set('/config', 'new', { version: 3 });
 */
export interface NodeVersionOption {
  /** The version that the node must have; BadVersionError otherwise. @default -1 (any) */
  readonly version?: number;
}

/** What the commands on nodes of every server's version can say. */
export interface NodeKind {
  readonly mode: CreateModeNumber;
  /** 0 for none. */
  readonly ttlMs: number;
  /** Every version of the ensemble has it. */
  readonly early: boolean;
}

/** @throws InvalidArgumentError */
export function kindOf(options: NodeKindOptions): NodeKind {
  const { ttlMs } = options;
  for (const name of ['ephemeral', 'sequential', 'container'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'boolean')
      throw new InvalidArgumentError(`${name} is ${JSON.stringify(value)}; it must be true or false`);
  }
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS)) {
    throw new InvalidArgumentError(
      `ttlMs is ${String(ttlMs)}; it must be a whole number from ${MIN_TTL_MS} to ${MAX_TTL_MS}`,
    );
  }
  const mode = createModeOf({ ...options, ttl: ttlMs !== undefined });
  if (mode === undefined) {
    throw new InvalidArgumentError(
      'a container is neither ephemeral nor sequential, and an ephemeral node and a container have no ttlMs; leave one of them out',
    );
  }
  return { mode, ttlMs: ttlMs ?? 0, early: mode === createMode(options) };
}

const encoder = new TextEncoder();

/** Undefined for none. @throws InvalidArgumentError, LimitExceededError */
export function dataOf(data: NodeData): Uint8Array | undefined {
  if (data === null) return undefined;
  if (typeof data !== 'string' && !(data instanceof Uint8Array)) {
    throw new InvalidArgumentError('data must be text, a Uint8Array, or null for none');
  }
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  if (bytes.length > MAX_DATA_BYTES) {
    throw new LimitExceededError(`data of ${bytes.length} bytes is over the limit of a node, ${MAX_DATA_BYTES}`);
  }
  return bytes;
}

/** @throws InvalidArgumentError */
export function versionOf(options: NodeVersionOption): number {
  const { version = -1 } = options;
  if (!Number.isSafeInteger(version) || version < -1) {
    throw new InvalidArgumentError(`version is ${String(version)}; it must be a whole number, or -1 for any`);
  }
  return version;
}

/** @throws InvalidArgumentError */
export function checkPath(path: string, sequential = false): void {
  const problem = typeof path === 'string' ? pathProblem(path, sequential) : 'is not text';
  if (problem !== undefined) throw new InvalidArgumentError(`path ${JSON.stringify(path)} ${problem}`);
}
