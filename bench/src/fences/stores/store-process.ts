/** A `fenced-kvd` of its own, or what stands in its place, as a process. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bundledEntry } from '@holdfast/ensemble';

import { askHttp } from '../../systems/ask.ts';
import { freePorts } from '../../systems/free-ports.ts';
import { ServerProcess } from '../../systems/server-process.ts';

const READY_TIMEOUT_MS = 30_000;

export interface StoreProcess {
  readonly url: string;
  readonly process: ServerProcess;
}

export async function startSingleStore(directory: string): Promise<StoreProcess> {
  const [port = 0] = await freePorts(1);
  const args = [bundledEntry('fenced-kvd'), '--listen', `127.0.0.1:${port}`, '--data', join(directory, 'single')];
  return await started(directory, 'fenced-kvd', port, [...args, '--log-level', 'warn']);
}

export async function startPlainLmdb(directory: string): Promise<StoreProcess> {
  const [port = 0] = await freePorts(1);
  const entry = fileURLToPath(new URL('plain-lmdb-server.js', import.meta.url));
  return await started(directory, 'plain-lmdb', port, [entry, join(directory, 'plain'), `${port}`]);
}

async function started(directory: string, name: string, port: number, args: readonly string[]): Promise<StoreProcess> {
  const logFile = join(directory, `${name}.log`);
  const server = new ServerProcess({ name, command: process.execPath, args, directory, logFile });
  const url = `http://127.0.0.1:${port}`;
  server.launch();
  try {
    await server.waitUntil(async () => (await askHttp(`${url}/health`)) !== undefined, READY_TIMEOUT_MS);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { url, process: server };
}
