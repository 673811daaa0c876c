/** The requests of etcd's v3 API that the generator sends, and what it reads of the responses. */

import { ProtoWriter, protoFields, type ProtoInteger } from './protobuf.ts';

export const Method = {
  range: '/etcdserverpb.KV/Range',
  put: '/etcdserverpb.KV/Put',
  deleteRange: '/etcdserverpb.KV/DeleteRange',
  txn: '/etcdserverpb.KV/Txn',
  watch: '/etcdserverpb.Watch/Watch',
  leaseGrant: '/etcdserverpb.Lease/LeaseGrant',
  leaseRevoke: '/etcdserverpb.Lease/LeaseRevoke',
  leaseKeepAlive: '/etcdserverpb.Lease/LeaseKeepAlive',
} as const;

const ASCENDING = 1;
const DESCENDING = 2;
const BY_CREATE_REVISION = 2;
const COMPARE_CREATE_REVISION = 1;
const REQUEST_RANGE = 1;
const REQUEST_PUT = 2;

export function rangeRequest(key: string, serializable = false): ProtoWriter {
  return new ProtoWriter().bytes(1, key).integer(7, serializable ? 1 : 0);
}

export function putRequest(key: string, value: Uint8Array | string, lease: ProtoInteger = 0): ProtoWriter {
  return new ProtoWriter().bytes(1, key).bytes(2, value).integer(3, lease);
}

export function deleteRequest(key: string): ProtoWriter {
  return new ProtoWriter().bytes(1, key);
}

export function putAllRequest(keys: readonly string[], value: Uint8Array): ProtoWriter {
  const txn = new ProtoWriter();
  for (const key of keys) txn.message(2, new ProtoWriter().message(REQUEST_PUT, putRequest(key, value)));
  return txn;
}

/** What `concurrency.Mutex` sends: put the key unless it is there, and read who came first under the prefix. */
export function lockRequest(key: string, prefix: string, lease: ProtoInteger): ProtoWriter {
  // Equal to a create revision of 0: the value of fields that are left out.
  const absent = new ProtoWriter().integer(2, COMPARE_CREATE_REVISION).bytes(3, key);
  const put = new ProtoWriter().message(REQUEST_PUT, putRequest(key, '', lease));
  const get = new ProtoWriter().message(REQUEST_RANGE, rangeRequest(key));
  const owner = new ProtoWriter().message(REQUEST_RANGE, edgeOfPrefix(prefix, ASCENDING));
  return new ProtoWriter().message(1, absent).message(2, put).message(2, owner).message(3, get).message(3, owner);
}

/** The key under the prefix that was created last, but not after `maxCreateRevision`. */
export function lastBeforeRequest(prefix: string, maxCreateRevision: number): ProtoWriter {
  return edgeOfPrefix(prefix, DESCENDING).integer(13, maxCreateRevision);
}

function edgeOfPrefix(prefix: string, order: number): ProtoWriter {
  return new ProtoWriter()
    .bytes(1, prefix)
    .bytes(2, endOfPrefix(prefix))
    .integer(3, 1)
    .integer(5, order)
    .integer(6, BY_CREATE_REVISION);
}

/** Prefixes end in "/", whose successor is "0". */
function endOfPrefix(prefix: string): string {
  return `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`;
}

export function leaseGrantRequest(seconds: number): ProtoWriter {
  return new ProtoWriter().integer(1, seconds);
}

export function leaseRequest(lease: ProtoInteger): ProtoWriter {
  return new ProtoWriter().integer(1, lease);
}

export function watchRequest(key: string, startRevision: number): ProtoWriter {
  return new ProtoWriter().message(1, new ProtoWriter().bytes(1, key).integer(3, startRevision));
}

export function cancelWatchRequest(watchId: number): ProtoWriter {
  return new ProtoWriter().message(2, new ProtoWriter().integer(1, watchId));
}

export interface RangeResult {
  readonly revision: number;
  /** Of the first key; undefined when there is none. */
  readonly first: { readonly key: string; readonly createRevision: number } | undefined;
}

export function readRange(bytes: Buffer): RangeResult {
  let revision = 0;
  let first: RangeResult['first'];
  for (const field of protoFields(bytes)) {
    if (field.number === 1) revision = readRevision(field.bytes);
    else if (field.number === 2) first ??= readKey(field.bytes);
  }
  return { revision, first };
}

/** Revision of the transaction, and who owns the prefix after it. */
export function readLock(bytes: Buffer): { readonly revision: number; readonly owner: RangeResult['first'] } {
  let revision = 0;
  let owner: RangeResult['first'];
  for (const field of protoFields(bytes)) {
    if (field.number === 1) revision = readRevision(field.bytes);
    // The put's response comes before the range's.
    if (field.number === 3) {
      for (const response of protoFields(field.bytes)) {
        if (response.number === REQUEST_RANGE) owner = readRange(response.bytes).first;
      }
    }
  }
  return { revision, owner };
}

export function readLeaseId(bytes: Buffer): bigint {
  for (const field of protoFields(bytes)) if (field.number === 2) return field.value;
  return 0n;
}

export interface WatchResult {
  readonly watchId: number;
  readonly created: boolean;
  readonly events: number;
}

export function readWatch(bytes: Buffer): WatchResult {
  let watchId = 0;
  let created = false;
  let events = 0;
  for (const field of protoFields(bytes)) {
    if (field.number === 2) watchId = Number(field.value);
    else if (field.number === 3) created = field.value !== 0n;
    else if (field.number === 11) events += 1;
  }
  return { watchId, created, events };
}

function readRevision(header: Buffer): number {
  for (const field of protoFields(header)) if (field.number === 3) return Number(field.value);
  return 0;
}

function readKey(bytes: Buffer): { key: string; createRevision: number } {
  let key = '';
  let createRevision = 0;
  for (const field of protoFields(bytes)) {
    if (field.number === 1) key = field.bytes.toString('latin1');
    else if (field.number === 2) createRevision = Number(field.value);
  }
  return { key, createRevision };
}
