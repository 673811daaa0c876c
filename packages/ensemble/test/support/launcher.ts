// The launcher as a user starts it: a process of its own, on a data directory and ports of its own.

import { spawn, type ChildProcess } from 'node:child_process';
import { onTestFinished } from 'vitest';

import { findFreeBasePort } from '../../src/free-ports.ts';
import { waitUntil } from '../../src/wait-until.ts';
import { processesOn, scratchDirectory } from './scratch.ts';

export const START_ENTRY = new URL('../../dist/start/main.js', import.meta.url).pathname;
export const SERVING = 'Everything serves:';
const BOUND_MS = 60_000;

export interface LauncherPlace {
  readonly data: string;
  readonly basePort: number;
}

export async function newPlace(servers = 3): Promise<LauncherPlace> {
  const data = scratchDirectory();
  // Whatever a failed test leaves is ended before the directory goes.
  onTestFinished(() => {
    for (const pid of processesOn(data)) process.kill(pid, 'SIGKILL');
  });
  return { data, basePort: await findFreeBasePort(servers) };
}

export function startArgs({ data, basePort }: LauncherPlace, ...extra: string[]): string[] {
  return ['--', '--data', data, '--base-port', String(basePort), ...extra];
}

export class Launcher {
  output = '';
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly #child: ChildProcess;

  constructor(command: string, args: readonly string[], options: { readonly detached?: boolean } = {}) {
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  static start(place: LauncherPlace, ...extra: string[]): Launcher {
    return new Launcher(process.execPath, [START_ENTRY, ...startArgs(place, ...extra)]);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Rejects with all that was printed when the text does not come. */
  async printed(text: string): Promise<void> {
    const seen = await waitUntil(() => Promise.resolve(this.output.includes(text) || undefined), BOUND_MS);
    if (seen === undefined) throw new Error(`"${text}" was not printed, only:\n${this.output}`);
  }

  get lastLine(): string {
    return this.output.trimEnd().split('\n').at(-1) ?? '';
  }
}

/** Rejects, naming them, when processes on the directory are left after a bound. */
export async function allEnded(directory: string): Promise<void> {
  const none = await waitUntil(() => Promise.resolve(processesOn(directory).length === 0 || undefined), BOUND_MS);
  if (none === undefined) throw new Error(`processes are left: ${processesOn(directory).join(', ')}`);
}
