/**
 * Who the replicas of a group are, as nodes of the ensemble beside its configuration: for each id the one directory that has it, for all
 * time, and where its clients go. So a directory that was lost, and made anew under its old id, is not believed to have what it had.
 */

import { BadVersionError, NodeExistsError, NotFoundError, type Nodes } from '@holdfast/client';

import type { ReplicaId } from '../core/index.ts';
import { Head, isObject } from '../wire/head.ts';
import { ConfigurationError, groupPath } from './ensemble-configuration.ts';

const FORMAT = 1;
const DIRECTORY_LENGTH = 32;
/** Characters of the address that clients are sent to. */
export const MAX_URL_LENGTH = 512;
const ATTEMPTS = 3;

const decoder = new TextDecoder('utf-8', { fatal: true });

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
  readonly #nodes: Pick<Nodes, 'get' | 'set' | 'create'>;
  readonly #root: string;
  readonly #parents: readonly string[];

  /** @throws ConfigurationError for a name that no group can have */
  constructor(nodes: Pick<Nodes, 'get' | 'set' | 'create'>, group: string) {
    const path = groupPath(group);
    this.#nodes = nodes;
    this.#root = `${path}/replicas`;
    this.#parents = [path.slice(0, path.lastIndexOf('/')), path, this.#root];
  }

  /** Rejects with ReplicaIdTakenError, ConfigurationError for a node of another kind, and HoldfastError. */
  async register(id: ReplicaId, replica: RegisteredReplica): Promise<void> {
    for (const parent of this.#parents) await this.#createOnce(parent, '');
    const path = `${this.#root}/${id}`;
    const data = JSON.stringify({ format: FORMAT, ...replica });
    decode(path, data); // what cannot be read again is not written
    for (let attempt = 1; ; attempt += 1) {
      if (await this.#createOnce(path, data)) return;
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

  async #createOnce(path: string, data: string): Promise<boolean> {
    try {
      await this.#nodes.create(path, data);
      return true;
    } catch (error) {
      if (error instanceof NodeExistsError) return false;
      throw error;
    }
  }
}

function decode(path: string, data: Uint8Array | string): RegisteredReplica {
  const refuse = (problem: string): ConfigurationError =>
    new ConfigurationError(
      `the node ${path} ${problem}; it is no replica that this version knows: leave it to fenced-kvd`,
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
  return { directory: head.text('directory', DIRECTORY_LENGTH), url: head.text('url', MAX_URL_LENGTH) };
}
