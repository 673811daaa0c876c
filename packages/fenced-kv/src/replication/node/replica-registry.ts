/**
 * Who the replicas of a group are, as nodes of the ensemble beside its configuration: for each id the one directory that has it, for all
 * time, and where its clients go. So a directory that was lost, and made anew under its old id, is not believed to have what it had.
 */

import { BadVersionError, NotFoundError } from '@holdfast/client';

import type { ReplicaId } from '../core/index.ts';
import { createOnce, decodeNode, encodeNode, groupPath, type GroupNodes } from './group-nodes.ts';

const DIRECTORY_LENGTH = 32;
/** Characters of the address that clients are sent to. */
export const MAX_URL_LENGTH = 512;
const ATTEMPTS = 3;

export interface RegisteredReplica {
  /** Drawn for its directory. */
  readonly directory: string;
  /** Where it answers clients while it serves. */
  readonly url: string;
}

/** The id is that of another directory. */
export class ReplicaIdTakenError extends Error {
  constructor(id: ReplicaId, path: string) {
    super(
      `replica ${id} is another directory than this one, as the node ${path} says, and an id is for one directory for all time: ` +
        'start that directory, or give this one an id of its own and put it into --replicas of all',
    );
    this.name = 'ReplicaIdTakenError';
  }
}

/**
 * @example
 * const registry = new ReplicaRegistry(client.nodes, 'orders');
 * await registry.register('r1', { directory: '0123456789abcdef0123456789abcdef', url: 'http://10.0.0.1:7400' });
 * (await registry.find('r1'))?.url; // 'http://10.0.0.1:7400'
 */
export class ReplicaRegistry {
  readonly #nodes: GroupNodes;
  readonly #root: string;
  readonly #parents: readonly string[];

  /** @throws ConfigurationError for a name that no group can have */
  constructor(nodes: GroupNodes, group: string) {
    const path = groupPath(group);
    this.#nodes = nodes;
    this.#root = `${path}/replicas`;
    this.#parents = [path.slice(0, path.lastIndexOf('/')), path, this.#root];
  }

  /** Rejects with ReplicaIdTakenError, ConfigurationError for a node of another kind, and HoldfastError. */
  async register(id: ReplicaId, replica: RegisteredReplica): Promise<void> {
    for (const parent of this.#parents) await createOnce(this.#nodes, parent, '');
    const path = `${this.#root}/${id}`;
    const data = encodeNode(replica);
    decode(path, data); // what cannot be read again is not written
    for (let attempt = 1; ; attempt += 1) {
      if (await createOnce(this.#nodes, path, data)) return;
      const { data: present, stat } = await this.#nodes.get(path);
      const { directory, url } = decode(path, present);
      if (directory !== replica.directory) throw new ReplicaIdTakenError(id, path);
      if (url === replica.url) return;
      try {
        await this.#nodes.set(path, data, { version: stat.version });
        return;
      } catch (error) {
        if (!(error instanceof BadVersionError) || attempt >= ATTEMPTS) throw error;
      }
    }
  }

  /** Undefined where it has never been started. Rejects with ConfigurationError and HoldfastError. */
  async find(id: ReplicaId): Promise<RegisteredReplica | undefined> {
    const path = `${this.#root}/${id}`;
    try {
      return decode(path, (await this.#nodes.get(path)).data);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }
}

function decode(path: string, data: Uint8Array | string): RegisteredReplica {
  return decodeNode({ path, data, what: 'replica' }, (head) => {
    return { directory: head.text('directory', DIRECTORY_LENGTH), url: head.text('url', MAX_URL_LENGTH) };
  });
}
