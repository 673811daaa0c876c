/**
 * What an entry does, in bytes: the writes of one commit of the store, as the primary has found them. Whoever applies an entry judges
 * nothing, and may apply it twice.
 *
 *     for each write: length of the key (4 bytes), length of the value (4 bytes, ffffffff: removed), key, value
 */

import { EngineError } from '../../engines/engine-error.ts';
import type { Write } from '../../engines/group-commit.ts';
import { isReplicaKey } from './replica-keys.ts';

const HEADER_BYTES = 8;
const REMOVED = 0xffff_ffff;

export function encodeWrites(writes: readonly Write[]): Uint8Array {
  const length = writes.reduce((sum, { key, value }) => sum + HEADER_BYTES + key.length + (value?.length ?? 0), 0);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let position = 0;
  for (const { key, value } of writes) {
    view.setUint32(position, key.length);
    view.setUint32(position + 4, value?.length ?? REMOVED);
    bytes.set(key, position + HEADER_BYTES);
    if (value !== undefined) bytes.set(value, position + HEADER_BYTES + key.length);
    position += HEADER_BYTES + key.length + (value?.length ?? 0);
  }
  return bytes;
}

/**
 * Keys and values are parts of the bytes, which nobody changes. @throws EngineError DAMAGED_DATA where the bytes are nothing that
 * {@link encodeWrites} makes of the buckets' keys
 */
export function decodeWrites(bytes: Uint8Array): readonly Write[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const writes: Write[] = [];
  let position = 0;
  while (position < bytes.length) {
    if (position + HEADER_BYTES > bytes.length) throw unreadable();
    const keyEnd = position + HEADER_BYTES + view.getUint32(position);
    const valueLength = view.getUint32(position + 4);
    const end = keyEnd + (valueLength === REMOVED ? 0 : valueLength);
    if (end > bytes.length) throw unreadable();
    const key = bytes.subarray(position + HEADER_BYTES, keyEnd);
    if (key.length === 0 || isReplicaKey(key)) throw unreadable();
    writes.push({ key, value: valueLength === REMOVED ? undefined : bytes.subarray(keyEnd, end) });
    position = end;
  }
  return writes;
}

function unreadable(): EngineError {
  return new EngineError(
    'DAMAGED_DATA',
    'an entry of the replicated log cannot be read; remove this replica and let a new one catch up',
  );
}
