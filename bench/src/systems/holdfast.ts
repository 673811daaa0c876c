/** Our own servers with their default settings. */

import { readFileSync } from 'node:fs';

import { join } from 'node:path';

import { bundledEntry, fetchStatus } from '@holdfast/ensemble';

import { askHttp, highest, metricOf, sum } from './ask.ts';
import { freePorts } from './free-ports.ts';
import { LOOPBACK } from './hosts.ts';
import { ServerEnsemble } from './server-ensemble.ts';
import { ServerProcess } from './server-process.ts';
import type { Progress, RunningSystem, SystemUnderTest } from './system.ts';

const SERVERS = 3;

export function holdfast(): SystemUnderTest {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return {
    name: 'holdfast',
    version: `${manifest.version}, Node.js ${process.versions.node}`,
    settings: 'defaults',
    start,
  };
}

async function start(directory: string, hosts = LOOPBACK): Promise<RunningSystem> {
  const ports = await freePorts(2 * SERVERS);
  const addresses = ports.slice(0, SERVERS).map((port, n) => `${hosts.address(n)}:${port}`);
  const peers = ports.slice(SERVERS).map((port, n) => `${hosts.address(n)}:${port}`);
  const cluster = peers.map((peer, n) => `${n + 1}=${peer}`).join(',');
  const processes = addresses.map((client, n) => {
    const flags = {
      id: `${n + 1}`,
      'cluster-id': 'bench',
      client,
      peer: peers[n] ?? '',
      data: join(directory, `server-${n + 1}`),
      cluster,
    };
    return new ServerProcess({
      name: `lockd ${n + 1}`,
      command: process.execPath,
      args: [
        bundledEntry('lockd'),
        ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
        // Only this machine reaches the other addresses.
        ...(hosts === LOOPBACK ? [] : ['--insecure']),
      ],
      inside: hosts.inside(n),
      directory,
      logFile: join(directory, `server-${n + 1}.log`),
    });
  });
  return await ServerEnsemble.start({
    name: 'holdfast',
    addresses,
    processes,
    serves: async (address) => (await askHttp(`http://${address}/ready`)) !== undefined,
    leads: async (address) => (await fetchStatus(address))?.role === 'leader',
    progress,
  });
}

async function progress(addresses: readonly string[]): Promise<Progress> {
  const reports = await Promise.all(addresses.map((address) => askHttp(`http://${address}/metrics`)));
  return {
    commitIndex: highest(reports.map((report) => metricOf(report, 'holdfast_commit_index'))),
    durableWrites: sum(reports.map((report) => metricOf(report, 'holdfast_log_writes_total'))),
  };
}
