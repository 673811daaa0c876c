/** What storage has to offer: reads, writes of new data, and one step that is atomic. */

import type { Manifest, ManifestFile } from './manifest.ts';

/** A manifest as it was read. */
export interface Loaded {
  readonly manifest: Manifest;
  /** By which a condition names it. No two manifests of a scope have the same one. */
  readonly version: string;
}

export interface ManifestStore {
  /** The current manifest of the scope, or undefined where there is none. */
  load(scope: string, signal?: AbortSignal): Promise<Loaded | undefined>;
  /** Whether manifests have the bytes of small files in them, where a further write of data is a further wait. */
  readonly inlines?: boolean;
  /**
   * Makes `manifest` the current one if that is still `over` (undefined: if there is none), in one atomic step, and durably.
   *
   * @returns false where the current one is another. That may be this one, of a try before whose answer was lost.
   * Rejects where it is unknown whether it was done.
   */
  publish(scope: string, manifest: Manifest, over: Loaded | undefined): Promise<boolean>;
  /** Writes data where nothing is, below the token: durable before it resolves. */
  put(scope: string, token: number, data: Uint8Array, signal: AbortSignal): Promise<ManifestFile>;
  /** The bytes, or undefined where they are gone: collected, since a newer manifest has others. */
  get(scope: string, file: ManifestFile, signal?: AbortSignal): Promise<Uint8Array | undefined>;
}
