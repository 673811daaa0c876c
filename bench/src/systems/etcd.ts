/** etcd as Debian packages it: three members with their default settings. */

import { join } from 'node:path';

import { askHttp, highest, metricOf, sum } from './ask.ts';
import { freePorts } from './free-ports.ts';
import { LOOPBACK } from './hosts.ts';
import { ServerEnsemble } from './server-ensemble.ts';
import { ServerProcess } from './server-process.ts';
import type { Progress, RunningSystem, SystemUnderTest } from './system.ts';

const SERVERS = 3;

export function etcd(version: string): SystemUnderTest {
  return { name: 'etcd', version, settings: 'defaults (heartbeat 100 ms, election 1,000 ms, fsync on)', start };
}

async function start(directory: string, hosts = LOOPBACK): Promise<RunningSystem> {
  const ports = await freePorts(2 * SERVERS);
  const [clientPorts, peerPorts] = [ports.slice(0, 3), ports.slice(3, 6)];
  const cluster = peerPorts.map((port, n) => `member-${n + 1}=http://${hosts.address(n)}:${port}`).join(',');
  const processes = clientPorts.map((port, n) => {
    const client = `http://${hosts.address(n)}:${port}`;
    const peer = `http://${hosts.address(n)}:${peerPorts[n]}`;
    const flags = {
      name: `member-${n + 1}`,
      'data-dir': join(directory, `server-${n + 1}`),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': cluster,
      'initial-cluster-state': 'new',
    };
    return new ServerProcess({
      name: `etcd ${n + 1}`,
      command: 'etcd',
      args: Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
      inside: hosts.inside(n),
      directory,
      logFile: join(directory, `server-${n + 1}.log`),
    });
  });
  return await ServerEnsemble.start({
    name: 'etcd',
    addresses: clientPorts.map((port, n) => `${hosts.address(n)}:${port}`),
    processes,
    serves: async (address) => /"health":\s*"true"/.test((await askHttp(`http://${address}/health`)) ?? ''),
    leads: async (address) => metricOf(await askHttp(`http://${address}/metrics`), 'etcd_server_is_leader') === 1,
    progress,
  });
}

async function progress(addresses: readonly string[]): Promise<Progress> {
  const reports = await Promise.all(addresses.map((address) => askHttp(`http://${address}/metrics`)));
  return {
    commitIndex: highest(reports.map((report) => metricOf(report, 'etcd_server_proposals_committed_total'))),
    durableWrites: sum(reports.map((report) => metricOf(report, 'etcd_disk_wal_fsync_duration_seconds_count'))),
  };
}
