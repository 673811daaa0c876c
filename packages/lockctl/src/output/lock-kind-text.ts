/**
 * A lock's kind and what its requests ask for, in words. A server may be of a later version: what that alone knows is shown as it came,
 * as numbers, and said to be so.
 */

import { LockKind, lockKinds, MalformedError, pack, unpackTuple, type Packable } from '@holdfast/protocol';
import type { Declarations, Messages } from '@holdfast/protocol/schema';

/** The kinds that this program knows; tests have some of their own. */
type Kinds = Pick<Messages<Declarations>, 'nameOf' | 'readFields' | 'shapes'>;

/** What a lock is that nobody says anything else of. */
export function isMutex(kind: number | undefined): boolean {
  return kind === undefined || kind === LockKind.mutex;
}

/** "mutex", "read-write", or "7 (of a later version)". */
export function kindText(kind: number = LockKind.mutex, kinds: Kinds = lockKinds): string {
  const name = kinds.nameOf(kind);
  if (name === undefined) return `${kind} (of a later version)`;
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** "write", "permits=2, limit=3", and bare values where this version has no name for them; empty for a request without any. */
export function parametersText(
  kind: number = LockKind.mutex,
  parameters: readonly Packable[] = [],
  kinds: Kinds = lockKinds,
): string {
  if (parameters.length === 0) return '';
  const { named, rest } = fieldsOf(kind, parameters, kinds);
  return [...named.map(namedText), ...rest.map(valueText)].join(', ');
}

function namedText([name, value]: readonly [string, unknown]): string {
  // Who is not to write is to read.
  if (name === 'write' && typeof value === 'boolean') return value ? 'write' : 'read';
  return `${name}=${valueText(value)}`;
}

/** Any other text is shown in quotes, so that it looks like no other parameter. */
const PLAIN_WORD = /^[\w-]+$/;

interface Parameters {
  readonly named: readonly (readonly [string, unknown])[];
  /** What a later version has appended, or all of a kind that this version cannot read. */
  readonly rest: readonly Packable[];
}

function fieldsOf(kind: number, parameters: readonly Packable[], kinds: Kinds): Parameters {
  const unread: Parameters = { named: [], rest: parameters };
  const name = kinds.nameOf(kind);
  if (name === undefined) return unread;
  try {
    const reader = unpackTuple(pack(parameters), `a request for a lock of kind ${name}`);
    const request: Readonly<Record<string, unknown>> = kinds.readFields(name, reader);
    const names = Object.keys(kinds.shapes[name]?.fields ?? {});
    const rest = parameters.slice(parameters.length - reader.remaining);
    const named = names.flatMap((field) => (request[field] === undefined ? [] : [[field, request[field]] as const]));
    return { named, rest };
  } catch (error) {
    if (error instanceof MalformedError) return unread;
    throw error;
  }
}

function valueText(value: unknown): string {
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  return typeof value === 'string' && PLAIN_WORD.test(value) ? value : JSON.stringify(value);
}
