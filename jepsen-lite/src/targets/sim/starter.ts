/** Starts a machine of the simulation, unless it runs. */

import type { Runtime } from '@holdfast/runtime';
import type { SimHost } from '@holdfast/runtime/sim';

/** What it gives is what a process on that machine gets. */
export function starter(host: SimHost): () => Runtime {
  return () => {
    if (host.state === 'down') host.restart();
    return host.runtime;
  };
}
