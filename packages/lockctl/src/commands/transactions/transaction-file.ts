/**
 * The operations of `lockctl txn`, as JSON: one array, or an object a line. Every key is checked, since one that is misspelt would otherwise
 * be an option that was not given.
 */

import { check, create, remove, set, type TransactionOperation } from '@holdfast/client';

import { parseTtl } from '../../arguments.ts';
import { UsageFailure } from '../../failure.ts';

/** By the name of an operation: the keys that it may have beside `op` and `path`. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  check: ['version'],
  create: ['data', 'base64', 'sequential', 'container', 'ttl'],
  set: ['data', 'base64', 'version'],
  remove: ['version'],
};

type Fields = Readonly<Record<string, unknown>>;

/** @throws UsageFailure that names the operation, the first is 1, and what is wrong with it */
export function readOperations(text: string): TransactionOperation[] {
  return valuesOf(text).map((value, at) => {
    const name = `operation ${at + 1}`;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new UsageFailure(`${name} must be an object, such as {"op":"check","path":"/a","version":3}`);
    return operationOf(value as Fields, name);
  });
}

/** An array, or one value a line. */
function valuesOf(text: string): readonly unknown[] {
  if (text.trimStart().startsWith('[')) {
    const values = parsed(text, 'the file');
    if (Array.isArray(values)) return values;
  }
  return text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [parsed(line, `line ${at + 1}`)]));
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageFailure(`${what} is not JSON: ${(error as Error).message}`);
  }
}

function operationOf(fields: Fields, name: string): TransactionOperation {
  const { op, path } = fields;
  const keys = typeof op === 'string' ? KEYS[op] : undefined;
  if (keys === undefined)
    throw new UsageFailure(`${name}: "op" is ${JSON.stringify(op)}; it must be one of ${Object.keys(KEYS).join(', ')}`);
  for (const key of Object.keys(fields)) {
    if (key !== 'op' && key !== 'path' && !keys.includes(key))
      throw new UsageFailure(`${name}: ${String(op)} has no "${key}"; it has path, ${keys.join(', ')}`);
  }
  if (typeof path !== 'string') throw new UsageFailure(`${name}: "path" must be text`);
  try {
    return made(String(op), path, fields);
  } catch (error) {
    if (error instanceof UsageFailure) throw error;
    throw new UsageFailure(`${name}: ${(error as Error).message}`);
  }
}

function made(op: string, path: string, fields: Fields): TransactionOperation {
  const options = fields['version'] === undefined ? {} : { version: fields['version'] as number };
  switch (op) {
    case 'check':
      return check(path, options);
    case 'remove':
      return remove(path, options);
    case 'set':
      return set(path, dataOf(fields), options);
    default:
      return create(path, dataOf(fields), kindOf(fields));
  }
}

/** Text, bytes as base64, or (`null`) none at all; empty where it is left out. */
function dataOf({ data = '', base64 }: Fields): string | Uint8Array | null {
  if (base64 === undefined) {
    if (typeof data === 'string' || data === null) return data;
    throw new UsageFailure('"data" must be text, or null for none; bytes go into "base64"');
  }
  if (data !== '') throw new UsageFailure('"data" and "base64" exclude each other');
  if (typeof base64 !== 'string' || !/^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/.test(base64))
    throw new UsageFailure('"base64" must be bytes as base64');
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

function kindOf({ sequential, container, ttl }: Fields): { sequential?: boolean; container?: boolean; ttlMs?: number } {
  if (ttl !== undefined && typeof ttl !== 'string') throw new UsageFailure('"ttl" must be a duration, such as "10s"');
  return {
    ...(sequential === undefined ? {} : { sequential: sequential as boolean }),
    ...(container === undefined ? {} : { container: container as boolean }),
    ...(ttl === undefined ? {} : { ttlMs: parseTtl(ttl) }),
  };
}
