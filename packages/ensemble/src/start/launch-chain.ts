/**
 * Notices that whoever launched this program is gone. Between a user and the launcher stand npx, pnpm and shells, and none of them
 * passes a SIGTERM on: ended, they leave the launcher as an orphan. So it watches each of them and stops with the first that goes.
 * A plain shell or a terminal above them is not watched: `nohup` is to work, and a closed terminal sends SIGHUP anyway.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** Together with the pid it names one process; a reused pid has another. */
  readonly startedAt: string;
  readonly command: readonly string[];
}

/** Undefined for a process that has ended, a zombie included. */
export type ReadProcess = (pid: number) => ProcessEntry | undefined;

const MAX_ANCESTORS = 16;
const POLL_MS = 500;

/** The package runners above `pid` and the shells among them, nearest first. */
export function launchChain(pid: number, read: ReadProcess): ProcessEntry[] {
  const chain: ProcessEntry[] = [];
  let next = read(pid)?.parent;
  while (next !== undefined && next > 1 && chain.length < MAX_ANCESTORS) {
    const ancestor = read(next);
    if (ancestor === undefined || !(isRunner(ancestor) || isShellCommand(ancestor))) break;
    chain.push(ancestor);
    next = ancestor.parent;
  }
  return chain.slice(0, chain.findLastIndex(isRunner) + 1);
}

/** Calls `onGone` once, when a process of the chain has ended. Returns what stops the watch. */
export function watchLaunchChain(chain: readonly ProcessEntry[], read: ReadProcess, onGone: () => void): () => void {
  if (chain.length === 0) return () => undefined;
  const timer = setInterval(() => {
    if (chain.every((ancestor) => read(ancestor.pid)?.startedAt === ancestor.startedAt)) return;
    clearInterval(timer);
    onGone();
  }, POLL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Reads /proc where there is one, and asks `ps` elsewhere. */
export function readProcess(pid: number): ProcessEntry | undefined {
  return process.platform === 'linux' ? readProc(pid) : askPs(pid);
}

function readProc(pid: number): ProcessEntry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses, which may hold anything; the rest is separated by spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state = 'Z', parent = '0'] = fields;
    if (state === 'Z' || state === 'X') return undefined;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter((part) => part !== '');
    return { pid, parent: Number(parent), startedAt: fields[19] ?? '', command };
  } catch {
    return undefined;
  }
}

function askPs(pid: number): ProcessEntry | undefined {
  const result = spawnSync('ps', ['-o', 'stat=,ppid=,lstart=,command=', '-p', String(pid)], { encoding: 'utf8' });
  const match = /^\s*(\S+)\s+(\d+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/m.exec(result.stdout ?? '');
  if (result.status !== 0 || match === null) return undefined;
  const [, state = 'Z', parent = '0', startedAt = '', command = ''] = match;
  return state.startsWith('Z') ? undefined : { pid, parent: Number(parent), startedAt, command: command.split(' ') };
}

// npx and npm set their title to "npm exec …"; pnpm is "…/pnpm" or "node …/pnpm.cjs".
function isRunner({ command }: ProcessEntry): boolean {
  return /\b(npx|npm|pnpm)\b/.test(command.slice(0, 2).join(' ')) && !isShellCommand({ command });
}

function isShellCommand({ command }: Pick<ProcessEntry, 'command'>): boolean {
  return /(^|\/)(ba|da|z|k)?sh$/.test(command[0] ?? '') && command[1] === '-c';
}
