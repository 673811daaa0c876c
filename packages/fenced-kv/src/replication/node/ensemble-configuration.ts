/**
 * The configuration of a group as a node of the ensemble, changed by versioned writes only: a write names the version that was read, and
 * fails where another was made since. Any client of the ensemble can do it; a session is not needed for what is kept.
 */

import { BadVersionError, NodeExistsError, NotFoundError, type Nodes } from '@holdfast/client';

import type { Configuration, ReplicaId, VersionedConfiguration } from '../core/index.ts';
import { Head, isObject } from '../wire/head.ts';
import type { ConfigurationNode } from './replica-node.ts';

/** Replicas of one group. */
export const MAX_REPLICAS = 16;
/** Characters of a group's name: letters, digits, dot, dash and underscore. */
const MAX_GROUP_LENGTH = 64;
/** Characters of a replica's id. */
const MAX_ID_LENGTH = 64;
const ROOT = '/fenced-kv';
const FORMAT = 1;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The node is missing, or holds something else. Its message says which, and what to do. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConfigurationError';
  }
}

/** Where a group has its nodes. @throws ConfigurationError for a name that no group can have */
export function groupPath(group: string): string {
  if (isGroupName(group)) return `${ROOT}/${group}`;
  throw new ConfigurationError(`${JSON.stringify(group)} is no name of a group: it ${NAME_RULE}`);
}

/** Names of groups and ids of replicas are alike. */
export const NAME_RULE = `has at most ${MAX_GROUP_LENGTH} letters, digits, dots, dashes and underscores, and begins with a letter or digit`;

export function isGroupName(name: string): boolean {
  return name.length <= MAX_GROUP_LENGTH && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name);
}

/**
 * @example
 * const configuration = new EnsembleConfiguration(client.nodes, 'orders');
 * await configuration.create(['r1', 'r2', 'r3']);
 */
export class EnsembleConfiguration implements ConfigurationNode {
  readonly path: string;
  readonly #nodes: Pick<Nodes, 'get' | 'set' | 'create'>;
  readonly #parents: readonly string[];

  /** @throws ConfigurationError for a name that no group can have */
  constructor(nodes: Pick<Nodes, 'get' | 'set' | 'create'>, group: string) {
    this.#nodes = nodes;
    this.#parents = [ROOT, groupPath(group)];
    this.path = `${groupPath(group)}/configuration`;
  }

  /**
   * An operator's act, once: these replicas begin in sync. They are empty, or one has the data and is the only one. Where the group exists,
   * nothing changes, and what it has is given. Rejects with ConfigurationError, and with HoldfastError.
   */
  async create(inSync: readonly ReplicaId[]): Promise<VersionedConfiguration> {
    const [primary = ''] = inSync;
    const first: Configuration = { epoch: 0, primary, inSync };
    const text = encode(first);
    // What cannot be read again is not written.
    decode(this.path, text);
    for (const parent of this.#parents) await this.#createOnce(parent, '');
    await this.#createOnce(this.path, text);
    return await this.read();
  }

  async read(): Promise<VersionedConfiguration> {
    try {
      const { data, stat } = await this.#nodes.get(this.path);
      return { ...decode(this.path, data), version: stat.version };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw new ConfigurationError(
        `there is no group at ${this.path}; create it with the replicas that begin in sync`,
        {
          cause: error,
        },
      );
    }
  }

  async write(expectedVersion: number, configuration: Configuration): Promise<VersionedConfiguration> {
    try {
      const { version } = await this.#nodes.set(this.path, encode(configuration), { version: expectedVersion });
      return { ...configuration, version };
    } catch (error) {
      // Another was made since, or this very one, when its answer was lost.
      if (error instanceof BadVersionError) return await this.read();
      throw error;
    }
  }

  async #createOnce(path: string, data: string): Promise<void> {
    try {
      await this.#nodes.create(path, data);
    } catch (error) {
      if (!(error instanceof NodeExistsError)) throw error;
    }
  }
}

function encode({ epoch, primary, inSync }: Configuration): string {
  return JSON.stringify({ format: FORMAT, epoch, primary, inSync });
}

function decode(path: string, data: Uint8Array | string): Configuration {
  const refuse = (problem: string): ConfigurationError =>
    new ConfigurationError(
      `the node ${path} ${problem}; it is no configuration that this version knows: leave it to fenced-kvd`,
    );
  let value: unknown;
  try {
    value = JSON.parse(typeof data === 'string' ? data : decoder.decode(data));
  } catch {
    throw refuse('is not JSON');
  }
  if (!isObject(value)) throw refuse('is no object');
  const head = new Head(value, refuse);
  if (head.integer('format') !== FORMAT) throw refuse('has another format');
  const inSync = head.list('inSync', MAX_REPLICAS).map((id) => {
    if (typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH) return id;
    throw refuse('has a replica without a name');
  });
  const primary = head.text('primary', MAX_ID_LENGTH);
  if (new Set(inSync).size !== inSync.length) throw refuse('has a replica twice');
  if (!inSync.includes(primary)) throw refuse('has a primary that is not in sync');
  return { epoch: head.integer('epoch'), primary, inSync };
}
