/** An ensemble of real processes for one test file: ports and data of its own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { LocalEnsemble, findFreeBasePort } from '@holdfast/ensemble';

/** Less than a hook may take: a machine that is busy with other tests starts servers slowly. */
const READY_TIMEOUT_MS = 100_000;

export async function startScratchEnsemble(options: { readonly fencedKv?: boolean } = {}): Promise<{
  readonly ensemble: LocalEnsemble;
  readonly basePort: number;
  readonly stop: () => Promise<void>;
}> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'holdfast-e2e-'));
  const basePort = await findFreeBasePort(3);
  const fencedKv = options.fencedKv ?? false;
  const ensemble = await LocalEnsemble.start({ dataDirectory, basePort, fencedKv, readyTimeoutMs: READY_TIMEOUT_MS });
  return {
    ensemble,
    basePort,
    async stop() {
      await ensemble.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}
