/** When a node goes that nobody deletes and no session takes with it, as the extra that it has for that. */

import { MAX_TTL_MS, MIN_TTL_MS } from '@holdfast/protocol';

import { ExtraTag } from './extra-tag.ts';
import type { NodeExtra } from './storage/node-extras.ts';

export type NodeLifetime =
  /** After its last child. */
  | { readonly type: 'container' }
  /** When it has had no children and no change of its data for so long. */
  | { readonly type: 'ttl'; readonly ttlMs: number };

const CONTAINER: NodeLifetime = { type: 'container' };
const CONTAINER_KIND = 1;
const TTL_KIND = 2;
/** Kind (u8), milliseconds (f64). */
const TTL_BYTES = 9;

export function lifetimeExtra(lifetime: NodeLifetime): NodeExtra {
  if (lifetime.type === 'container') return { tag: ExtraTag.lifetime, bytes: Uint8Array.of(CONTAINER_KIND) };
  const bytes = new Uint8Array(TTL_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, TTL_KIND);
  view.setFloat64(1, lifetime.ttlMs, true);
  return { tag: ExtraTag.lifetime, bytes };
}

/** Undefined for what is none. */
export function readLifetime(bytes: Uint8Array): NodeLifetime | undefined {
  if (bytes.length === 1 && bytes[0] === CONTAINER_KIND) return CONTAINER;
  if (bytes.length !== TTL_BYTES || bytes[0] !== TTL_KIND) return undefined;
  const ttlMs = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(1, true);
  return isTtl(ttlMs) ? { type: 'ttl', ttlMs } : undefined;
}

export function isTtl(ttlMs: number): boolean {
  return Number.isSafeInteger(ttlMs) && ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS;
}
