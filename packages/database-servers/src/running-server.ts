/** A database server as a process that tests stop, restart and kill. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { PreparedServer } from './prepared-server.ts';

const READY_TIMEOUT_MS = 30_000;
/** Before a server that does not end by its signal is killed. */
const END_TIMEOUT_MS = 20_000;
const RETRY_MS = 20;

export interface RunOptions {
  /** For messages: `PostgreSQL`. */
  readonly name: string;
  /** Ends it cleanly, with its connections. @default 'SIGTERM' */
  readonly stopSignal?: NodeJS.Signals;
  /** Whether it takes requests now; asked until it says so after each start. */
  readonly serves: () => Promise<boolean>;
}

export interface RunningServer {
  readonly port: number;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  /** Ends it cleanly, with its connections, and starts it again. */
  restart(): Promise<void>;
  /** Kills it, and starts it on what it has left. */
  crash(): Promise<void>;
}

/**
 * Rejects, with nothing left behind, when it does not serve within half a minute.
 *
 * @example
 * const prepared = await prepareRedis();
 * const server = await runServer(prepared, { name: 'Redis', serves: () => answersPing(prepared.port) });
 * await server.crash();
 * await server.stop();
 */
export async function runServer(prepared: PreparedServer, options: RunOptions): Promise<RunningServer> {
  const { command, args, port, user } = prepared;
  const { name, stopSignal = 'SIGTERM', serves } = options;
  const start = (): ChildProcess => spawn(command, args, { ...user.ids, cwd: user.directory, stdio: 'ignore' });
  let server = start();
  const begin = async (): Promise<void> => {
    const endsAt = performance.now() + READY_TIMEOUT_MS;
    while (!(await serves())) {
      if (performance.now() > endsAt) throw new Error(`${name} did not serve within ${READY_TIMEOUT_MS} ms`);
      // What a killed one has left may be in its way for a moment.
      if (hasEnded(server)) server = start();
      await sleep(RETRY_MS);
    }
  };
  const again = async (signal: NodeJS.Signals): Promise<void> => {
    await end(server, signal);
    server = start();
    await begin();
  };
  const stop = async (): Promise<void> => {
    await end(server, stopSignal);
    user.remove();
  };
  try {
    await begin();
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, stop, restart: () => again(stopSignal), crash: () => again('SIGKILL') };
}

function hasEnded(server: ChildProcess): boolean {
  return server.exitCode !== null || server.signalCode !== null;
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(server)) return;
  const exited = once(server, 'exit');
  server.kill(signal);
  const timer = setTimeout(() => server.kill('SIGKILL'), END_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
