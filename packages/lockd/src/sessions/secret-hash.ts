/** What a server keeps of a session's secret: enough to know it again, and of no use to whoever reads a log, a snapshot or a backup. */

import { createHash } from 'node:crypto';

/** SHA-256, without salt: a secret is 128 random bits, which no table has. */
export function secretHash(secret: Uint8Array): Uint8Array {
  return createHash('sha256').update(secret).digest();
}
