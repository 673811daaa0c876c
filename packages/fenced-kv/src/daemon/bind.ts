/** An operator's command on a data directory, or on the server that has it open: binds a bucket that exists to the lock whose tokens it takes. */

import type { Disk, Logger } from '@holdfast/runtime';

import { onBucket } from './on-bucket.ts';

export interface BindOptions {
  readonly data: string;
  readonly lock: string;
}

/** Rejects with {@link ExitError}. */
export async function bind(
  bucket: string,
  { data, lock }: BindOptions,
  dependencies: { readonly disk: Disk; readonly logger: Logger },
): Promise<{ readonly previous: string | null }> {
  return await onBucket(data, dependencies, {
    stopped: async (store) => await store.bind(bucket, lock),
    running: async (server) => await server.bind(bucket, lock),
  });
}
