/**
 * The command that runs under a lock. It leads a process group of its own, so that what it started ends with it when the lock is
 * lost, and so that a Ctrl-C reaches it once: through lockctl.
 */

import { spawn } from 'node:child_process';
import { constants } from 'node:os';

import { EXIT_FAILURE, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, EXIT_SIGNAL_BASE } from './exit-code.ts';

export interface ChildCommandOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
}

export interface CommandEnd {
  /** As a shell would report it: the command's own, or 128 plus the signal's number, 126, 127. */
  readonly exitCode: number;
  /** Why it could not be started. */
  readonly startFailure?: string;
}

export interface ChildCommand {
  readonly ended: Promise<CommandEnd>;
  /** To the whole group; nothing once the group is gone. */
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM to the group, SIGKILL to what is left of it after `graceMs`. Resolves when the group is gone or was killed. */
  terminate(graceMs: number): Promise<void>;
}

const GROUP_POLL_MS = 25;

export function startChildCommand({ command, args, variables }: ChildCommandOptions): ChildCommand {
  const child = spawn(command, args, { stdio: 'inherit', detached: true, env: { ...variables } });
  const ended = new Promise<CommandEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ exitCode: code ?? EXIT_SIGNAL_BASE + signalNumber(signal) }));
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve(startFailure(command, error));
    });
  });
  const signal = (name: NodeJS.Signals | 0): boolean => signalGroup(child.pid, name);
  return {
    ended,
    signal,
    async terminate(graceMs) {
      signal('SIGTERM');
      // A stopped group would not hear it.
      signal('SIGCONT');
      const deadline = performance.now() + graceMs;
      while (signal(0)) {
        if (performance.now() >= deadline) {
          signal('SIGKILL');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, GROUP_POLL_MS));
      }
    },
  };
}

/** False when the group is gone. */
function signalGroup(pid: number | undefined, name: NodeJS.Signals | 0): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(-pid, name);
  } catch {
    return false;
  }
}

function signalNumber(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal];
}

function startFailure(command: string, error: NodeJS.ErrnoException): CommandEnd {
  if (error.code === 'ENOENT') {
    return { exitCode: EXIT_NOT_FOUND, startFailure: `command "${command}" was not found; check its name and PATH` };
  }
  if (error.code === 'EACCES') {
    return { exitCode: EXIT_NOT_EXECUTABLE, startFailure: `command "${command}" may not be executed; check its mode` };
  }
  return { exitCode: EXIT_FAILURE, startFailure: `command "${command}" could not be started: ${error.message}` };
}
