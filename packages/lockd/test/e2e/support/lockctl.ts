/** Runs the built lockctl as an operator does, on the servers of a test. */

import { fileURLToPath } from 'node:url';
import { LockdProcess } from './lockd-process.ts';

const LOCKCTL = fileURLToPath(new URL('../../../../lockctl/dist/bundle/main.js', import.meta.url));

export interface Outcome {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** `ports` are those for clients. */
export async function lockctl(ports: readonly number[], ...args: readonly string[]): Promise<Outcome> {
  const HOLDFAST_SERVERS = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const run = new LockdProcess(args, { HOLDFAST_SERVERS }, [], undefined, LOCKCTL);
  return { code: await run.ended(), stdout: run.stdout, stderr: run.stderr };
}
