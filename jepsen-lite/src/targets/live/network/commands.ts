/** Commands of the operating system that set the network up: short, and waited for, so that a fault has begun when they have ended. */

import { execFile, spawnSync } from 'node:child_process';

/** They take milliseconds; nothing else of the harness goes on meanwhile. */
const COMMAND_LIMIT_MS = 30_000;

/** It could not be run, or has refused. */
export class CommandError extends Error {
  constructor(command: string, problem: string) {
    super(`${command}: ${problem}`);
    this.name = 'CommandError';
  }
}

/** What it printed. @throws CommandError */
export function run(command: string, args: readonly string[], input?: string): string {
  const options = { encoding: 'utf8', timeout: COMMAND_LIMIT_MS, killSignal: 'SIGKILL' } as const;
  const result = spawnSync(command, args, { ...options, ...(input === undefined ? {} : { input }) });
  const { error, status, stdout, stderr } = result;
  if (error !== undefined) throw new CommandError(command, error.message);
  if (status !== 0) throw new CommandError([command, ...args].join(' '), stderr.trim() || `exit code ${status}`);
  return stdout;
}

/** The same, while the harness goes on: where many are to be done at a time it would be late for everything else. */
export function runAside(command: string, args: readonly string[]): Promise<string> {
  const options = { encoding: 'utf8', timeout: COMMAND_LIMIT_MS, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve, reject) => {
    execFile(command, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new CommandError([command, ...args].join(' '), stderr.trim() || error.message));
    });
  });
}
