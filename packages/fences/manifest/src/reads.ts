/** What asks for no token: reads of what was published, and the deletion of what nobody reads any more. */

import type { ManifestFile } from './manifest.ts';
import type { ManifestStore } from './store.ts';

/** How often a read begins anew whose data were collected under it. */
const MAX_READS = 5;

/** The bytes of a file of a manifest, or undefined where they are gone. */
export async function bytesFrom(
  store: ManifestStore,
  scope: string,
  file: ManifestFile,
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  return file.data === undefined
    ? await store.get(scope, file, signal)
    : new Uint8Array(Buffer.from(file.data, 'base64'));
}

/** What was published last under that name, or undefined. */
export async function readFrom(store: ManifestStore, scope: string, name: string): Promise<Uint8Array | undefined> {
  for (let reads = 1; ; reads += 1) {
    const file = (await store.load(scope))?.manifest.files.get(name);
    if (file === undefined) return undefined;
    const data = await bytesFrom(store, scope, file);
    if (data !== undefined || reads >= MAX_READS) return data;
  }
}

/** Data that are there, whether a manifest names them or not. */
export interface Leftover {
  readonly key: string;
  /** Of the holder that wrote it. */
  readonly token: number;
}

/**
 * Deletes what no manifest names and none ever will: of tokens below the floor.
 *
 * @param leftovers is iterated when the manifest was read
 * @returns how many were deleted
 */
export async function collectFrom<Found extends Leftover>(
  store: ManifestStore,
  scope: string,
  leftovers: AsyncIterable<Found>,
  remove: (found: Found) => Promise<void>,
): Promise<number> {
  const manifest = (await store.load(scope))?.manifest;
  if (manifest === undefined) return 0;
  const named = new Set([...manifest.files.values()].map(({ key }) => key));
  let deleted = 0;
  for await (const found of leftovers) {
    if (found.token >= manifest.floor || named.has(found.key)) continue;
    await remove(found);
    deleted += 1;
  }
  return deleted;
}
