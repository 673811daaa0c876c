// Loaded into a lockd by --import: tells on SIGUSR2, after a full collection, what is really in use.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => {
  collect();
  // Buffers are given back by a second one, when what held them is gone.
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`in use: ${heapUsed + external}\n`);
});
