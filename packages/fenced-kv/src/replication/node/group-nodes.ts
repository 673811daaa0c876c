/** The nodes that a group has in the ensemble: where they are, what names they may bear, and how each is made once and read. */

import { NodeExistsError, type Nodes } from '@holdfast/client';

import { Head, isObject } from '../wire/head.ts';

/** Characters of a group's name and of a replica's id, which are alike. */
export const MAX_NAME_LENGTH = 64;
export const GROUPS_PATH = '/fenced-kv';
const FORMAT = 1;

export const NAME_RULE = `has at most ${MAX_NAME_LENGTH} letters, digits, dots, dashes and underscores, and begins with a letter or digit`;

const decoder = new TextDecoder('utf-8', { fatal: true });

export type GroupNodes = Pick<Nodes, 'get' | 'set' | 'create'>;

/** The node is missing, or holds something else. Its message says which, and what to do. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConfigurationError';
  }
}

/** Whether a group may have this name, or a replica this id. */
export function isGroupName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name);
}

/** Where a group has its nodes. @throws ConfigurationError for a name that no group can have */
export function groupPath(group: string): string {
  if (isGroupName(group)) return `${GROUPS_PATH}/${group}`;
  throw new ConfigurationError(`${JSON.stringify(group)} is no name of a group: it ${NAME_RULE}`);
}

/** False where the node is there already. Rejects with HoldfastError. */
export async function createOnce(nodes: GroupNodes, path: string, data: string): Promise<boolean> {
  try {
    await nodes.create(path, data);
    return true;
  } catch (error) {
    if (error instanceof NodeExistsError) return false;
    throw error;
  }
}

export function encodeNode(fields: object): string {
  return JSON.stringify({ format: FORMAT, ...fields });
}

/**
 * What a node holds, field by field.
 *
 * @param what it should be: `configuration`
 * @param read takes the fields; `refuse` makes the error of one that is wrong
 * @throws ConfigurationError
 */
export function decodeNode<T>(
  { path, data, what }: { readonly path: string; readonly data: Uint8Array | string; readonly what: string },
  read: (head: Head, refuse: (problem: string) => ConfigurationError) => T,
): T {
  const refuse = (problem: string): ConfigurationError =>
    new ConfigurationError(
      `the node ${path} ${problem}; it is no ${what} that this version knows: leave it to fenced-kvd`,
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
  return read(head, refuse);
}
