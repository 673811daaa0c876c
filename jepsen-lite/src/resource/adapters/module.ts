/** A resource that an ES module of the user's opens. Each connection is a call of its `open`. */

import { pathToFileURL } from 'node:url';

import { messageOf, outcomeOf, ResourceInputError, type Connection, type Outcome, type Resource } from './resource.ts';

type Open = () => Promise<Resource> | Resource;

export async function openModule(path: string, timeoutMs: number): Promise<Connection> {
  const open = await importOpen(path);
  let resource: unknown;
  try {
    resource = await within(timeoutMs, async () => await open());
  } catch (error) {
    throw new ResourceInputError(`${path}: open() failed: ${messageOf(error)}`, { cause: error });
  }
  return connectionOf(checked(path, resource), timeoutMs);
}

async function importOpen(path: string): Promise<Open> {
  let exported: { readonly open?: unknown; readonly default?: unknown };
  try {
    exported = (await import(pathToFileURL(path).href)) as typeof exported;
  } catch (error) {
    throw new ResourceInputError(`${path}: cannot be imported: ${messageOf(error)}`, { cause: error });
  }
  const open = exported.open ?? exported.default;
  if (typeof open === 'function') return open as Open;
  const found = Object.keys(exported).join(', ');
  const has = found === '' ? 'it exports nothing' : `it exports ${found}`;
  throw new ResourceInputError(`${path}: must export a function open(), by that name or as its default; ${has}`);
}

function checked(path: string, resource: unknown): Resource {
  const methods = (typeof resource === 'object' && resource !== null ? resource : {}) as Record<string, unknown>;
  const missing = ['write', 'read'].filter((name) => typeof methods[name] !== 'function');
  if (missing.length > 0) {
    const names = missing.map((name) => `${name}()`).join(' and ');
    throw new ResourceInputError(
      `${path}: what open() gives must have write(value, token) and read(); ${names} is missing`,
    );
  }
  return resource as Resource;
}

function connectionOf(resource: Resource, timeoutMs: number): Connection {
  const attempt = async (call: () => Promise<void>): Promise<Outcome> => {
    try {
      await within(timeoutMs, call);
      return { type: 'taken' };
    } catch (error) {
      return outcomeOf(error);
    }
  };
  return {
    write: async (value, token) => await attempt(async () => await resource.write(value, token)),
    read: async () => {
      const value: unknown = await within(timeoutMs, async () => await resource.read());
      if (value === null || typeof value === 'string') return value;
      throw new ResourceInputError(
        `read() must resolve to the text that was written, or null; it gave ${typeof value}`,
      );
    },
    ...(typeof resource.install === 'function'
      ? { install: async (token: number) => await attempt(async () => await resource.install?.(token)) }
      : {}),
    close: async () => {
      await within(timeoutMs, async () => await resource.close?.());
    },
  };
}

async function within<T>(timeoutMs: number, call: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}
