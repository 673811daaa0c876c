/** The fence of storage that has one atomic step: a manifest that is replaced only if it is still the one that was read. */

export { fenceBy, installBy, RULES, type FenceCall, type Rules } from './fence.ts';
export { decodeManifest, EMPTY, encodeManifest, MAX_RECENT, type Manifest, type ManifestFile } from './manifest.ts';
export { checkName, type InstallOptions } from './options.ts';
export { collectFrom, readFrom, type Leftover } from './reads.ts';
export type { Loaded, ManifestStore } from './store.ts';
export { Transaction, type TransactionOf } from './transaction.ts';
