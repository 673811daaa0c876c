/**
 * Files in S3-compatible object storage that a holder whose lock was granted to somebody newer cannot publish.
 *
 * @example
 * import { S3Client } from '@aws-sdk/client-s3';
 * import { fence } from '@holdfast/fence-s3';
 *
 * const storage = { client: new S3Client(), bucket: 'reports' };
 * await client.lock('jobs').withLock(async (held) => {
 *   await fence(storage, 'jobs', held, async (tx) => {
 *     const before = await tx.read('state.json');
 *     await tx.write('state.json', next(before));
 *   });
 * });
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type Holder } from '@holdfast/fence';
export type { InstallOptions } from '@holdfast/fence-manifest';
export {
  collect,
  fence,
  highest,
  install,
  read,
  verifyStorage,
  type FenceOptions,
  type S3Transaction,
} from './fence.ts';
export type { S3Storage } from './storage.ts';
