/** Starts the built fenced-kvd as a process of its own, and ends it. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/bundle/main.js', import.meta.url));

export interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Daemon {
  readonly url: string;
  readonly pid: number;
  /** Resolves when the process ends by itself. */
  readonly ended: Promise<Outcome>;
  /** Sends the signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<Outcome>;
}

const running = new Set<ChildProcess>();

/** Runs a command line to its end. */
export async function run(...args: readonly string[]): Promise<Outcome> {
  return await outcomeOf(start([], args));
}

export interface DaemonOptions {
  readonly args?: readonly string[];
  /** Goes before the command. */
  readonly wrapper?: readonly string[];
  /** `host:port`. @default a port of 127.0.0.1 that the system chooses */
  readonly listen?: string;
}

/** Starts a server and waits until it serves. */
export async function serve(data: string, options: DaemonOptions = {}): Promise<Daemon> {
  const { args = [], wrapper = [], listen = '127.0.0.1:0' } = options;
  const child = start(wrapper, ['--listen', listen, '--data', data, ...args]);
  const ended = outcomeOf(child);
  const line = await Promise.race([firstLine(child), ended]);
  const url = typeof line === 'string' ? /^fenced-kvd serves (\S+)$/.exec(line)?.[1] : undefined;
  if (url === undefined || child.pid === undefined)
    throw new Error(`fenced-kvd did not serve: ${JSON.stringify(line)}`);
  return {
    url,
    pid: child.pid,
    ended,
    async stop(signal) {
      child.kill(signal);
      return await ended;
    },
  };
}

/** Ends what a failed test left behind. */
export async function stopAll(): Promise<void> {
  for (const child of running) {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }
}

function start(wrapper: readonly string[], args: readonly string[]): ChildProcess {
  const [command = process.execPath, ...rest] = [...wrapper, process.execPath, MAIN, ...args];
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, stdout, stderr };
}

async function firstLine(child: ChildProcess): Promise<string> {
  let seen = '';
  return await new Promise((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
      const end = seen.indexOf('\n');
      if (end >= 0) resolve(seen.slice(0, end));
    });
  });
}
