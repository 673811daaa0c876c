/**
 * An operator's command on a data directory, or on the server that has it open: lets lower tokens pass again, for an ensemble that was
 * set up anew and counts from the start. Not on the port of the clients, where a superseded holder could reach it.
 */

import type { Disk, Logger } from '@holdfast/runtime';

import { checkReset } from '../admin/admin-error.ts';
import { parseToken } from '../name.ts';
import { exitErrorOf, onBucket } from './on-bucket.ts';

export interface ResetFenceOptions {
  readonly data: string;
  /** Decimal digits; `0`: any token passes. */
  readonly to: string;
  /** Decimal digits: the present highest token, as the operator has seen it. A running server needs it to lower a fence. */
  readonly from?: string;
}

/** Rejects with {@link ExitError}. */
export async function resetFence(
  bucket: string,
  options: ResetFenceOptions,
  dependencies: { readonly disk: Disk; readonly logger: Logger },
): Promise<{ readonly highest: number; readonly previous: number }> {
  const to = parseHighest(options.to);
  const from = options.from === undefined ? undefined : parseHighest(options.from);
  return await onBucket(options.data, dependencies, {
    stopped: async (store) =>
      await store.resetFence(bucket, to, from === undefined ? undefined : checkReset(bucket, { to, from })),
    running: async (server) => await server.resetFence(bucket, { to, from }),
  });
}

function parseHighest(text: string): number {
  try {
    return /^0+$/.test(text) ? 0 : parseToken(text);
  } catch (error) {
    throw exitErrorOf(error);
  }
}
