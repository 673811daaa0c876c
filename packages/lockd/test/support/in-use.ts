/** What a test's process really has in use, after a full collection. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function usage(): NodeJS.MemoryUsage {
  collect();
  // Buffers are given back by a second one, when what held them is gone.
  collect();
  return process.memoryUsage();
}

/** Objects and arrays of bytes. */
export function bytesInUse(): number {
  const { heapUsed, external } = usage();
  return heapUsed + external;
}
