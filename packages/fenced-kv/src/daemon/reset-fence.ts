/**
 * An operator's command on the data directory of a stopped server: lets lower tokens pass again, for an ensemble that was
 * set up anew and counts from the start. Not on HTTP, where a superseded holder could reach it.
 */

import type { Disk, Logger } from '@holdfast/runtime';

import { parseToken } from '../name.ts';
import { exitErrorOf, onBucket } from './on-bucket.ts';

export interface ResetFenceOptions {
  readonly data: string;
  /** Decimal digits; `0`: any token passes. */
  readonly to: string;
}

/** Rejects with {@link ExitError}. */
export async function resetFence(
  bucket: string,
  options: ResetFenceOptions,
  dependencies: { readonly disk: Disk; readonly logger: Logger },
): Promise<{ readonly highest: number; readonly previous: number }> {
  const to = parseTarget(options.to);
  return await onBucket(options.data, dependencies, async (store) => await store.resetFence(bucket, to));
}

function parseTarget(text: string): number {
  try {
    return /^0+$/.test(text) ? 0 : parseToken(text);
  } catch (error) {
    throw exitErrorOf(error);
  }
}
