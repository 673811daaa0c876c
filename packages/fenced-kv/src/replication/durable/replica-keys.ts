/**
 * How a replica lies in its engine, beside the buckets (keyspace.ts) and behind all their keys: `ff 00` its record, `ff 01 index` an entry
 * of the log, `ff 02` what tells its directory from every other. What is copied from replica to replica is everything before `ff`.
 */

import type { Reader } from '../../engines/engine.ts';
import { damaged } from '../../keyspace.ts';
import type { DurableReplica, Entry, ReplicaId } from '../core/index.ts';
import { readUint64, writeUint64 } from '../../integers.ts';

/** The first byte of everything that is a replica's own. */
const REPLICA_SPACE = 0xff;

export const REPLICA_KEY: Uint8Array = Uint8Array.of(REPLICA_SPACE, 0);
/** What is drawn for the directory, once. */
export const DIRECTORY_KEY: Uint8Array = Uint8Array.of(REPLICA_SPACE, 2);
const LOG_SPACE: readonly [number, number] = [REPLICA_SPACE, 1];
const ENTRY_KEY_BYTES = 10;

/** The keys of the buckets: from the first, inclusive, to the end, exclusive. */
export const BUCKETS = { from: Uint8Array.of(0), to: Uint8Array.of(REPLICA_SPACE) } as const;

export function isReplicaKey(key: Uint8Array): boolean {
  return (key[0] ?? 0) >= REPLICA_SPACE;
}

/** Without what is the replica's own. */
export function bucketsOf(reader: Reader): Reader {
  return {
    get: (key) => (isReplicaKey(key) ? undefined : reader.get(key)),
    range: ({ from, to, limit }) => reader.range({ from, to: isReplicaKey(to) ? BUCKETS.to : to, limit }),
  };
}

const ENTRY_HEADER_BYTES = 9;
const BARRIER = 0;
const WRITES = 1;
const FORMAT = 1;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** What a replica has but for the entries themselves. */
export interface ReplicaRecord extends Omit<DurableReplica, 'entries'> {
  readonly id: ReplicaId;
  /** The log ends here. */
  readonly lastIndex: number;
  /** What was there before a copy is being removed. */
  readonly dropping: boolean;
}

export function encodeReplica(record: ReplicaRecord): Uint8Array {
  return encoder.encode(JSON.stringify({ format: FORMAT, ...record }));
}

/** @throws EngineError DAMAGED_DATA */
export function decodeReplica(bytes: Uint8Array): ReplicaRecord {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw damaged('the record of the replica cannot be read');
  }
  if (!isObject(value) || value['format'] !== FORMAT) {
    throw damaged('the record of the replica is of another version');
  }
  const { id, installed, base, applied, lastIndex, copy, dropping } = value;
  if (typeof id !== 'string' || !isObject(base) || !isObject(copy) || typeof dropping !== 'boolean') {
    throw damaged('the record of the replica is not whole');
  }
  const { cursor } = copy;
  if (cursor !== undefined && typeof cursor !== 'string') throw damaged('the record of the replica is not whole');
  return {
    id,
    installed: indexOf(installed),
    base: { index: indexOf(base['index']), epoch: indexOf(base['epoch']) },
    applied: indexOf(applied),
    lastIndex: indexOf(lastIndex),
    copy: { epoch: indexOf(copy['epoch']), copy: indexOf(copy['copy']), cursor },
    dropping,
  };
}

export function entryKey(index: number): Uint8Array {
  const key = new Uint8Array(ENTRY_KEY_BYTES);
  key.set(LOG_SPACE);
  writeUint64(key, LOG_SPACE.length, index);
  return key;
}

export function logRange(): { readonly from: Uint8Array; readonly to: Uint8Array } {
  return { from: Uint8Array.of(...LOG_SPACE), to: Uint8Array.of(LOG_SPACE[0], LOG_SPACE[1] + 1) };
}

export function encodeEntry({ epoch, payload }: Entry): Uint8Array {
  const bytes = new Uint8Array(ENTRY_HEADER_BYTES + (payload?.length ?? 0));
  writeUint64(bytes, 0, epoch);
  bytes[8] = payload === undefined ? BARRIER : WRITES;
  if (payload !== undefined) bytes.set(payload, ENTRY_HEADER_BYTES);
  return bytes;
}

/** @throws EngineError DAMAGED_DATA */
export function decodeEntry(key: Uint8Array, bytes: Uint8Array): Entry {
  if (key.length !== ENTRY_KEY_BYTES || bytes.length < ENTRY_HEADER_BYTES)
    throw damaged('an entry of the replicated log is cut');
  const index = readUint64(key, LOG_SPACE.length);
  const kind = bytes[8] ?? 0;
  const payload = kind === BARRIER ? undefined : new Uint8Array(bytes.subarray(ENTRY_HEADER_BYTES));
  if (kind > WRITES) throw damaged(`entry ${index} of the replicated log is of another version`);
  return { index, epoch: readUint64(bytes, 0), payload };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function indexOf(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw damaged('the record of the replica is not whole');
}
