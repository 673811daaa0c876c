/** An ensemble of real processes for one test file: ports and data of its own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { LocalEnsemble, findFreeBasePort } from '@holdfast/ensemble';

export async function startScratchEnsemble(options: { readonly fencedKv?: boolean } = {}): Promise<{
  readonly ensemble: LocalEnsemble;
  readonly basePort: number;
  readonly stop: () => Promise<void>;
}> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'holdfast-e2e-'));
  const basePort = await findFreeBasePort(3);
  const ensemble = await LocalEnsemble.start({ dataDirectory, basePort, fencedKv: options.fencedKv ?? false });
  return {
    ensemble,
    basePort,
    async stop() {
      await ensemble.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}
