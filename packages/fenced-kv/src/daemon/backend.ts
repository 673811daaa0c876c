/** What the server's life is about: a store by itself, or a replica of a group. */

import type { Clock } from '@holdfast/runtime';
import type { Disk, Logger } from '@holdfast/runtime';

import type { Snapshot } from '../engines/engine.ts';
import { ExpiryLoop } from '../expiry-loop.ts';
import { onlyStore } from '../http/store-source.ts';
import type { StoreSource } from '../http/store-source.ts';
import type { StoreOptions } from '../store-types.ts';
import { openDataDirectory } from './data-directory.ts';

export interface Backend {
  readonly source: StoreSource;
  /** Everything that is acknowledged, as one state. Rejects with AdminError, NotPrimaryError and EngineError. */
  snapshot(): Promise<Snapshot>;
  /** Clients can reach it at `url` from now on. */
  begin(url: string): void;
  /** Ends what follows buckets: it would go on for ever. */
  stopFollowing(): void;
  /** When no request is under way any more. Rejects with ExitError. */
  close(): Promise<void>;
}

export interface BackendDeps {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly logger: Logger;
  /** The process must stop. */
  readonly onFailure: (error: Error) => void;
}

/** Rejects with ExitError. */
export async function openSingle(data: string, options: StoreOptions, deps: BackendDeps): Promise<Backend> {
  const directory = await openDataDirectory(data, { ...options, ...deps });
  const { store } = directory;
  const expiry = new ExpiryLoop(store, deps);
  return {
    source: onlyStore(store),
    snapshot: async () => await Promise.resolve(directory.snapshot()),
    begin() {},
    stopFollowing: () => store.stopFollowing(),
    async close() {
      await expiry.stop();
      await directory.close();
    },
  };
}
