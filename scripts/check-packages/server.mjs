// A real server and the command line, as they were installed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { command } from './command.mjs';

const START_LIMIT_MS = 60_000;

/** @returns {Promise<{ address: string, takeLock: () => void, stop: () => Promise<void> }>} */
export async function startServer(project, data) {
  const bin = (name) => join(project, 'node_modules/.bin', name);
  const [client, peer] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const args = ['--id', '1', '--cluster-id', 'packed', '--client', client, '--peer', peer];
  const child = spawn(process.execPath, [bin('lockd'), ...args, '--data', data, '--cluster', `1=${peer}`]);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  await serving(client, child, () => said);
  return {
    address: client,
    takeLock() {
      const words = ['lock', 'packed', '--', process.execPath, '-p', 'process.env.HOLDFAST_TOKEN > 0'];
      const answer = command(process.execPath, [bin('lockctl'), '--servers', client, ...words]);
      if (answer.trim() !== 'true') throw new Error(`lockctl lock said ${JSON.stringify(answer)}`);
      command(process.execPath, [bin('fenced-kvd'), '--version']);
    },
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

async function serving(address, child, said) {
  const giveUpAt = performance.now() + START_LIMIT_MS;
  while (child.exitCode === null && performance.now() < giveUpAt) {
    const answer = await fetch(`http://${address}/ready`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGKILL');
  throw new Error(`lockd of its package does not serve:\n${said()}`);
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  return port;
}
