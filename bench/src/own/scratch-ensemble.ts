/** An ensemble for one measurement: ports and data of its own, stopped and removed at the end. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { LocalEnsemble, findFreeBasePort } from '@holdfast/ensemble';

export interface ScratchOptions {
  /** Servers that may be added later: their ports are free, too. @default 0 */
  readonly room?: number;
  /** Added to each server's command line. @default none */
  readonly serverArgs?: readonly string[];
}

export async function withScratchEnsemble<T>(
  run: (ensemble: LocalEnsemble) => Promise<T>,
  { room = 0, serverArgs = [] }: ScratchOptions = {},
): Promise<T> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    const ensemble = await LocalEnsemble.start({
      dataDirectory,
      servers: 3,
      fencedKv: false,
      basePort: await findFreeBasePort(3 + room),
      serverArgs,
    });
    try {
      return await run(ensemble);
    } finally {
      await ensemble.stop();
    }
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}
