/** Calls of nodes, which are recorded. Each is answered with what was found or made, undefined when it had no effect or nobody can tell. */

import { HoldfastError } from '@holdfast/client';
import type { Caller } from '../workload.ts';

export interface FoundNode {
  /** null: there is none. */
  readonly value: string | null;
  /** -1 where there is none. */
  readonly version: number;
}

const ABSENT: FoundNode = { value: null, version: -1 };

/** Linearizable. */
export async function readNode({ calls, client }: Caller, path: string): Promise<FoundNode | undefined> {
  const { nodes, sessionId: session } = client;
  let found: FoundNode | undefined;
  await calls.make({ f: 'read', path, consistency: 'linearizable', session }, async () => {
    try {
      const { data, stat } = await nodes.get(path);
      found = { value: new TextDecoder().decode(data), version: stat.version };
      return { value: found.value, version: stat.version };
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error;
      found = ABSENT;
      return { value: null };
    }
  });
  return found;
}

/** True when it was created; not when another has. */
export async function createNode(caller: Caller, path: string, value: string): Promise<boolean> {
  return (await tryToCreate(caller, path, value, {}, ['NODE_EXISTS'])) === 'done';
}

/** As a node that goes by itself. */
interface Lifetime {
  readonly ttlMs?: number;
  readonly container?: true;
}

/** `refused`: not with NOT_FOUND. Of `failed` nobody can tell, or there is no session any more. */
type Created = 'done' | 'no-parent' | 'refused' | 'unsupported' | 'failed';

export async function createBelow(
  caller: Caller,
  path: string,
  value: string,
  lifetime: Lifetime = {},
): Promise<Created> {
  return await tryToCreate(caller, path, value, lifetime, ['NODE_EXISTS', 'NOT_FOUND', 'UNSUPPORTED']);
}

async function tryToCreate(
  { calls, client }: Caller,
  path: string,
  value: string,
  lifetime: Lifetime,
  refusals: readonly string[],
): Promise<Created> {
  const { nodes, sessionId: session } = client;
  let created: Created = 'failed';
  const create = async (): Promise<object> => {
    try {
      await nodes.create(path, value, lifetime);
      created = 'done';
      return {};
    } catch (error) {
      if (error instanceof HoldfastError) created = CREATED.get(error.code) ?? 'failed';
      throw error;
    }
  };
  await calls.make({ f: 'create', path, value, ...lifetime, session }, create, refusals);
  return created;
}

const CREATED: ReadonlyMap<string, Created> = new Map([
  ['NOT_FOUND', 'no-parent'],
  ['NODE_EXISTS', 'refused'],
  ['UNSUPPORTED', 'unsupported'],
]);

/** What it was asked for begins with a state version that the ensemble has not come to. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === 'UNSUPPORTED';
}

/** The path that it got. @param prefix to which the ensemble appends a number */
export async function createSequentialNode({ calls, client }: Caller, prefix: string): Promise<string | undefined> {
  const { nodes, sessionId: session } = client;
  let created: string | undefined;
  // The oracle knows a write by its value.
  const operation = { f: 'create-sequential', path: prefix, value: prefix, session } as const;
  const create = async (): Promise<{ created: string }> => {
    const made = await nodes.create(prefix, operation.value, { sequential: true });
    created = made.path;
    return { created: made.path };
  };
  await calls.make(operation, create, ['NOT_FOUND']);
  return created;
}

/** Reads the names of the children. */
export async function listNodes({ calls, client }: Caller, path: string): Promise<void> {
  const { nodes, sessionId: session } = client;
  await calls.make({ f: 'list', path, session }, async () => {
    try {
      const { names } = await nodes.children(path);
      return { names };
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error;
      return { names: null };
    }
  });
}

/** True when it was set; not when it has another version than that, or is not there. @param version none: any */
export async function setNode(
  { calls, client }: Caller,
  path: string,
  value: string,
  version?: number,
): Promise<boolean> {
  const { nodes, sessionId: session } = client;
  const demand = version === undefined ? {} : { version };
  const set = async (): Promise<{ newVersion: number }> => {
    const stat = await nodes.set(path, value, demand);
    return { newVersion: stat.version };
  };
  return await calls.make({ f: 'set', path, value, ...demand, session }, set, refusals(version));
}

/** True when it was deleted; not when it has another version than that, or is not there. @param version none: any */
export async function deleteNode({ calls, client }: Caller, path: string, version?: number): Promise<boolean> {
  const { nodes, sessionId: session } = client;
  const demand = version === undefined ? {} : { version };
  const remove = async (): Promise<object> => {
    await nodes.delete(path, demand);
    return {};
  };
  return await calls.make({ f: 'delete', path, ...demand, session }, remove, refusals(version));
}

/** Who demands no version cannot be refused for one. */
function refusals(version: number | undefined): readonly string[] {
  return version === undefined ? ['NOT_FOUND'] : ['NOT_FOUND', 'BAD_VERSION'];
}
