/** Buckets as small as can be: a few keys with texts. An entry sets one key, or removes it. */

import type { CopyPart, Entry } from '../../../../src/replication/core/index.ts';

export type Buckets = ReadonlyMap<string, string>;

const KEYS = 6;
/** Keys of one part of a copy. */
const PART_KEYS = 3;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function writeOf(ticket: number): Uint8Array {
  const key = `key-${(ticket * 7) % KEYS}`;
  return encoder.encode(ticket % 4 === 0 ? key : `${key}=${ticket}`);
}

export function applyTo(buckets: Map<string, string>, { payload }: Entry): void {
  if (payload === undefined) return;
  const [key = '', value] = decoder.decode(payload).split('=');
  if (value === undefined) buckets.delete(key);
  else buckets.set(key, value);
}

/** What is there now; the next part is of another time. */
export function readPart(buckets: Buckets, from: string): CopyPart {
  const rest = [...buckets].filter(([key]) => key > from).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const part = rest.slice(0, PART_KEYS);
  const chunk = encoder.encode(JSON.stringify(part));
  return { from, to: part.at(-1)?.[0] ?? from, last: rest.length <= PART_KEYS, chunk };
}

export function addPart(buckets: Map<string, string>, { chunk }: CopyPart): void {
  const entries: [string, string][] = JSON.parse(decoder.decode(chunk));
  for (const [key, value] of entries) buckets.set(key, value);
}

export function describeBuckets(buckets: Buckets): string {
  return [...buckets]
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(' ');
}
