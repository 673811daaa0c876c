/** Runs the built command, as a user does. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { findFreeBasePort, LocalEnsemble } from '@holdfast/ensemble';

const PROGRAM = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export async function jepsenResource(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [PROGRAM, 'resource', ...args], {
    ...options,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

export interface Scratch {
  readonly directory: string;
  readonly servers: string;
  readonly fencedKvUrl: string;
  stop(): Promise<void>;
}

/** An ensemble and a fenced store for all trials of a test file. */
export async function startScratch(): Promise<Scratch> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-resource-test-'));
  const ensemble = await LocalEnsemble.start({
    dataDirectory: join(directory, 'data'),
    basePort: await findFreeBasePort(3),
  });
  return {
    directory,
    servers: ensemble.clientAddresses.join(),
    fencedKvUrl: ensemble.fencedKvUrl,
    async stop() {
      await ensemble.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
