/**
 * The configuration of a group as a node of the ensemble, changed by versioned writes only: a write names the version that was read, and
 * fails where another was made since. Any client of the ensemble can do it; a session is not needed for what is kept.
 */

import { BadVersionError, NotFoundError } from '@holdfast/client';

import type { Configuration, ReplicaId, VersionedConfiguration } from '../core/index.ts';
import {
  ConfigurationError,
  createOnce,
  decodeNode,
  encodeNode,
  GROUPS_PATH,
  groupPath,
  MAX_NAME_LENGTH,
  type GroupNodes,
} from './group-nodes.ts';
import type { ConfigurationNode } from './replica-node.ts';

/** Replicas of one group. */
export const MAX_REPLICAS = 16;

/**
 * @example
 * const configuration = new EnsembleConfiguration(client.nodes, 'orders');
 * await configuration.create(['r1', 'r2', 'r3']);
 */
export class EnsembleConfiguration implements ConfigurationNode {
  readonly path: string;
  readonly #nodes: GroupNodes;
  readonly #parents: readonly string[];

  /** @throws ConfigurationError for a name that no group can have */
  constructor(nodes: GroupNodes, group: string) {
    this.#nodes = nodes;
    this.#parents = [GROUPS_PATH, groupPath(group)];
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
    for (const parent of this.#parents) await createOnce(this.#nodes, parent, '');
    await createOnce(this.#nodes, this.path, text);
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
}

function encode({ epoch, primary, inSync }: Configuration): string {
  return encodeNode({ epoch, primary, inSync });
}

function decode(path: string, data: Uint8Array | string): Configuration {
  return decodeNode({ path, data, what: 'configuration' }, (head, refuse) => {
    const inSync = head.list('inSync', MAX_REPLICAS).map((id) => {
      if (typeof id === 'string' && id !== '' && id.length <= MAX_NAME_LENGTH) return id;
      throw refuse('has a replica without a name');
    });
    const primary = head.text('primary', MAX_NAME_LENGTH);
    if (new Set(inSync).size !== inSync.length) throw refuse('has a replica twice');
    if (!inSync.includes(primary)) throw refuse('has a primary that is not in sync');
    return { epoch: head.integer('epoch'), primary, inSync };
  });
}
