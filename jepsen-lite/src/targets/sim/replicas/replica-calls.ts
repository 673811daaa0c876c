/** What clients of a simulated world ask of a replica, and what it answers: the calls of the HTTP interface without HTTP. */

import { EngineError, RefusedError, type FencedStore, type Precondition } from '@holdfast/fenced-kv';
import { NotPrimaryError, type ReplicaBackend } from '@holdfast/fenced-kv/replication';

export type ReplicaCall =
  | { readonly op: 'create'; readonly bucket: string }
  | { readonly op: 'fence'; readonly bucket: string; readonly token: number }
  | { readonly op: 'get'; readonly bucket: string; readonly key: string; readonly token?: number | undefined }
  | {
      readonly op: 'write';
      readonly bucket: string;
      readonly key: string;
      /** null: the key is to be gone. */
      readonly value: string | null;
      readonly token?: number | undefined;
      /** Which the key must have; null: there must be none. @default any */
      readonly revision?: number | null | undefined;
    };

export interface AskedReplica {
  /** The latest epoch in which the client was answered. */
  readonly known: number;
  readonly call: ReplicaCall;
}

export type ReplicaAnswer =
  | { readonly ok: true; readonly epoch: number; readonly value?: string | null; readonly revision?: number | null }
  | {
      readonly ok: false;
      readonly code: string;
      readonly indeterminate: boolean;
      readonly highest?: number;
      /** With NOT_PRIMARY: who is, if it knows, and in which epoch. */
      readonly primary?: string | null;
      readonly epoch?: number;
    };

const NO_KEY = new Set(['KEY_NOT_FOUND', 'BUCKET_NOT_FOUND']);

/** Never rejects. @param failed what nobody has to expect */
export async function answer(
  backend: ReplicaBackend,
  { known, call }: AskedReplica,
  failed: (error: unknown) => void,
): Promise<ReplicaAnswer> {
  try {
    const { store, epoch = 0, confirm } = backend.present();
    if (known > epoch) throw new NotPrimaryError({ ...backend.group, primary: null });
    if (call.op === 'get') await confirm?.();
    return { ok: true, epoch, ...(await done(store, call)) };
  } catch (error) {
    return refusalOf(backend, call, error) ?? unforeseen(error, failed);
  }
}

async function done(
  store: FencedStore,
  call: ReplicaCall,
): Promise<{ readonly value?: string | null; readonly revision?: number | null }> {
  switch (call.op) {
    case 'create':
      await store.create(call.bucket, { tokens: 'optional' });
      return {};
    case 'fence':
      await store.install(call.bucket, call.token);
      return {};
    case 'get':
      return read(store, call);
    case 'write': {
      const { bucket, key, value, token, revision } = call;
      const conditions = revision === undefined ? {} : { conditions: [conditionOf(revision)] };
      const bytes = value === null ? undefined : new TextEncoder().encode(value);
      return await store.write(bucket, [{ key, value: bytes, ...conditions }], { token });
    }
  }
}

function conditionOf(revision: number | null): Precondition {
  return revision === null ? { kind: 'absent' } : { kind: 'revision-in', revisions: [revision] };
}

function read(
  store: FencedStore,
  { bucket, key, token }: Extract<ReplicaCall, { readonly op: 'get' }>,
): { readonly value: string | null; readonly revision: number | null } {
  try {
    const { value, revision } = store.get(bucket, key, { token });
    return { value: new TextDecoder().decode(value), revision };
  } catch (error) {
    if (error instanceof RefusedError && NO_KEY.has(error.refusal.code)) return { value: null, revision: null };
    throw error;
  }
}

function refusalOf(backend: ReplicaBackend, call: ReplicaCall, error: unknown): ReplicaAnswer | undefined {
  const writes = call.op !== 'get';
  if (error instanceof RefusedError) {
    const { refusal } = error;
    const highest = refusal.code === 'STALE_TOKEN' ? { highest: refusal.highest } : {};
    return { ok: false, code: refusal.code, indeterminate: false, ...highest };
  }
  const isClosed = error instanceof EngineError && error.code === 'CLOSED';
  if (error instanceof NotPrimaryError || isClosed) {
    const { primary, epoch } = backend.group;
    const indeterminate = writes && error.indeterminate;
    return { ok: false, code: 'NOT_PRIMARY', indeterminate, primary: primary?.replica ?? null, epoch };
  }
  if (!(error instanceof EngineError)) return undefined;
  return { ok: false, code: error.code, indeterminate: writes && error.indeterminate };
}

function unforeseen(error: unknown, failed: (error: unknown) => void): ReplicaAnswer {
  failed(error);
  return { ok: false, code: 'INTERNAL', indeterminate: true };
}
