/** Our own servers, as `start` runs them. */

import { readFileSync } from 'node:fs';

import { LocalEnsemble, findFreeBasePort } from '@holdfast/ensemble';

import { askHttp, highest, metricOf, sum } from './ask.ts';
import type { RunningSystem, SystemUnderTest } from './system.ts';

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

async function start(directory: string): Promise<RunningSystem> {
  const ensemble = await LocalEnsemble.start({
    dataDirectory: directory,
    servers: SERVERS,
    fencedKv: false,
    basePort: await findFreeBasePort(SERVERS),
  });
  const addresses = ensemble.clientAddresses;
  const leader = async (): Promise<number> => (await ensemble.waitForLeader()) - 1;
  const pid = (server: number): number => ensemble.pid(server + 1) ?? 0;
  return {
    name: 'holdfast',
    addresses,
    pids: () => addresses.map((_, server) => pid(server)).filter((id) => id !== 0),
    leader,
    pid,
    async progress() {
      const reports = await Promise.all(addresses.map((address) => askHttp(`http://${address}/metrics`)));
      return {
        commitIndex: highest(reports.map((report) => metricOf(report, 'holdfast_commit_index'))),
        durableWrites: sum(reports.map((report) => metricOf(report, 'holdfast_log_writes_total'))),
      };
    },
    async stopServer(server) {
      await ensemble.stopServer(server + 1);
    },
    launchServer: (server) => ensemble.launch(server + 1),
    serves: async (server) => (await askHttp(`http://${addresses[server]}/ready`)) !== undefined,
    noteKilled: (server) => ensemble.kill(server + 1),
    stop: () => ensemble.stop(),
  };
}
