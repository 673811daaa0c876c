/** Calls of the replicated store, which are recorded. */

import type { ExpectedKey } from '../../history/history.ts';
import type { ClientSession } from '../workload.ts';
import type { Group, GroupBucket, KeptKey } from './group.ts';

/** A bucket, and how it is called in the history. */
export interface NamedBucket {
  readonly name: string;
  /** With which its calls go. */
  readonly token?: number;
  readonly through: GroupBucket;
}

/** Undefined when it was not installed. */
export async function installToken(
  { calls }: ClientSession,
  group: Group,
  bucket: string,
  token: number,
): Promise<NamedBucket | undefined> {
  let installed: NamedBucket | undefined;
  await calls.make({ f: 'kv-fence', bucket, token }, async () => {
    const { bucket: through, epoch } = await group.fence(bucket, token);
    installed = { name: bucket, token, through };
    return { epoch };
  });
  return installed;
}

/** Undefined when there was no answer. */
export async function readKey(
  { calls }: ClientSession,
  bucket: NamedBucket,
  key: string,
): Promise<KeptKey | undefined> {
  let found: KeptKey | undefined;
  await calls.make({ f: 'kv-get', ...namesOf(bucket), key }, async () => {
    const answer = await bucket.through.get(key);
    found = answer;
    return answer;
  });
  return found;
}

/** Whether it was done. @param expected what the key must have. @default anything */
export async function writeKey(
  { calls }: ClientSession,
  bucket: NamedBucket,
  written: { readonly key: string; readonly value: string; readonly expected?: ExpectedKey },
): Promise<boolean> {
  const { key, value, expected } = written;
  const ask = async (): Promise<{ revision: number; epoch: number }> =>
    await bucket.through.put(key, value, expected?.revision);
  return await calls.make({ f: 'kv-put', ...namesOf(bucket), ...written }, ask);
}

/** The same for a key that is to be gone. */
export async function deleteKey(
  { calls }: ClientSession,
  bucket: NamedBucket,
  removed: { readonly key: string; readonly expected?: ExpectedKey },
): Promise<boolean> {
  const { key, expected } = removed;
  const ask = async (): Promise<{ epoch: number }> => await bucket.through.delete(key, expected?.revision);
  return await calls.make({ f: 'kv-delete', ...namesOf(bucket), ...removed }, ask);
}

function namesOf({ name, token }: NamedBucket): { readonly bucket: string; readonly token?: number } {
  return { bucket: name, ...(token === undefined ? {} : { token }) };
}
