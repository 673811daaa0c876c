/**
 * ZooKeeper as Debian packages it: three servers with its sample configuration. Only what three servers and a thousand clients on
 * one machine need is different.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { askTcp, highest, sum } from './ask.ts';
import { freePorts } from './free-ports.ts';
import { PeerEnsemble } from './peer-ensemble.ts';
import { ServerProcess } from './server-process.ts';
import type { Progress, RunningSystem, SystemUnderTest } from './system.ts';

export const ZOOKEEPER_CLASS_PATH = '/usr/share/java/zookeeper.jar';
const SERVERS = 3;
/** What ZooKeeper's own start script gives a server. */
const HEAP = '-Xmx1000m';

const LOG_CONFIGURATION = `log4j.rootLogger=INFO, CONSOLE
log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender
log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout
log4j.appender.CONSOLE.layout.ConversionPattern=%d{ISO8601} - %-5p [%t:%C{1}@%L] - %m%n
`;

export function zooKeeper(version: string): SystemUnderTest {
  return {
    name: 'zookeeper',
    version,
    settings:
      'sample configuration (tickTime 2000, initLimit 10, syncLimit 5, forceSync yes, 1,000 MB heap); ' +
      'maxClientCnxns 0 for many clients of one address, admin server off, srvr and mntr allowed',
    start,
  };
}

async function start(directory: string): Promise<RunningSystem> {
  const ports = await freePorts(3 * SERVERS);
  const [clientPorts, quorumPorts, electionPorts] = [ports.slice(0, 3), ports.slice(3, 6), ports.slice(6, 9)];
  const members = clientPorts
    .map((_, n) => `server.${n + 1}=127.0.0.1:${quorumPorts[n]}:${electionPorts[n]}`)
    .join('\n');
  const processes = clientPorts.map((port, n) => {
    const home = join(directory, `server-${n + 1}`);
    mkdirSync(join(home, 'data'), { recursive: true });
    writeFileSync(join(home, 'data', 'myid'), `${n + 1}\n`);
    writeFileSync(join(home, 'log4j.properties'), LOG_CONFIGURATION);
    writeFileSync(join(home, 'zoo.cfg'), configuration(home, port, members));
    return new ServerProcess({
      name: `zookeeper ${n + 1}`,
      command: 'java',
      args: [
        HEAP,
        `-Dlog4j.configuration=file:${join(home, 'log4j.properties')}`,
        `-Dzookeeper.log.dir=${home}`,
        '-cp',
        ZOOKEEPER_CLASS_PATH,
        'org.apache.zookeeper.server.quorum.QuorumPeerMain',
        join(home, 'zoo.cfg'),
      ],
      directory: home,
      logFile: join(directory, `server-${n + 1}.log`),
    });
  });
  return await PeerEnsemble.start({
    name: 'zookeeper',
    addresses: clientPorts.map((port) => `127.0.0.1:${port}`),
    processes,
    serves: async (address) => /^Mode: (leader|follower)/m.test((await askTcp(address, 'srvr')) ?? ''),
    leads: async (address) => /^Mode: leader/m.test((await askTcp(address, 'srvr')) ?? ''),
    progress,
  });
}

function configuration(home: string, port: number, members: string): string {
  return `tickTime=2000
initLimit=10
syncLimit=5
dataDir=${join(home, 'data')}
clientPort=${port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr,mntr
${members}
`;
}

async function progress(addresses: readonly string[]): Promise<Progress> {
  const reports = await Promise.all(addresses.map((address) => askTcp(address, 'mntr')));
  const summaries = await Promise.all(addresses.map((address) => askTcp(address, 'srvr')));
  return {
    commitIndex: highest(summaries.map(counterOfZxid)),
    durableWrites: sum(
      reports.map((report) => {
        const count = /^zk_cnt_fsynctime\s+(\d+)/m.exec(report ?? '')?.[1];
        return count === undefined ? null : Number(count);
      }),
    ),
  };
}

/** The counter within the epoch. */
function counterOfZxid(summary: string | undefined): number | null {
  const zxid = /^Zxid: 0x([0-9a-f]+)/m.exec(summary ?? '')?.[1];
  return zxid === undefined ? null : Number(BigInt(`0x${zxid}`) & 0xffffffffn);
}
