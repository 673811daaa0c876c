/**
 * Files of one machine that a holder whose lock was granted to somebody newer cannot publish.
 *
 * @example
 * import { fence } from '@holdfast/fence-files';
 *
 * await client.lock('jobs').withLock(async (held) => {
 *   await fence('/var/lib/reports', 'jobs', held, async (tx) => {
 *     const before = await tx.read('state.json');
 *     await tx.write('state.json', next(before));
 *   });
 * });
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type Holder } from '@holdfast/fence';
export type { InstallOptions } from '@holdfast/fence-manifest';
export { collect, fence, highest, install, pathOf, read, type FenceOptions } from './fence.ts';
export type { FilesTransaction } from './transaction.ts';
