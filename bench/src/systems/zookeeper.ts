/**
 * ZooKeeper as Debian packages it: three servers with its sample configuration. Only what three servers and a thousand clients on
 * one machine need is different.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { askTcp, highest, sum } from './ask.ts';
import { freePorts } from './free-ports.ts';
import { LOOPBACK, type Hosts } from './hosts.ts';
import { ServerEnsemble } from './server-ensemble.ts';
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

/** In ticks, but for the tick. A follower and a leader give each other up after `syncLimit` ticks of silence. */
interface Timing {
  readonly tickTimeMs: number;
  readonly initLimit: number;
  readonly syncLimit: number;
}

/** Of the sample, which has forceSync yes and a heap of 1,000 MB besides. */
const SAMPLE_TIMING: Timing = { tickTimeMs: 2_000, initLimit: 10, syncLimit: 5 };

export function zooKeeper(version: string, timing = SAMPLE_TIMING): SystemUnderTest {
  const { tickTimeMs, initLimit, syncLimit } = timing;
  const times =
    timing === SAMPLE_TIMING ? '' : `; tickTime ${tickTimeMs}, initLimit ${initLimit}, syncLimit ${syncLimit}`;
  return {
    name: 'zookeeper',
    version,
    settings: `sample configuration; maxClientCnxns 0, admin server off, srvr and mntr allowed${times}`,
    start: (directory, hosts = LOOPBACK) => start(directory, hosts, timing),
  };
}

async function start(directory: string, hosts: Hosts, timing: Timing): Promise<RunningSystem> {
  const ports = await freePorts(3 * SERVERS);
  const [clientPorts, quorumPorts, electionPorts] = [ports.slice(0, 3), ports.slice(3, 6), ports.slice(6, 9)];
  const members = clientPorts
    .map((_, n) => `server.${n + 1}=${hosts.address(n)}:${quorumPorts[n]}:${electionPorts[n]}`)
    .join('\n');
  const processes = clientPorts.map((port, n) => {
    const home = join(directory, `server-${n + 1}`);
    mkdirSync(join(home, 'data'), { recursive: true });
    writeFileSync(join(home, 'data', 'myid'), `${n + 1}\n`);
    writeFileSync(join(home, 'log4j.properties'), LOG_CONFIGURATION);
    writeFileSync(join(home, 'zoo.cfg'), configuration(home, `${hosts.address(n)}:${port}`, members, timing));
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
      inside: hosts.inside(n),
      directory: home,
      logFile: join(directory, `server-${n + 1}.log`),
    });
  });
  return await ServerEnsemble.start({
    name: 'zookeeper',
    addresses: clientPorts.map((port, n) => `${hosts.address(n)}:${port}`),
    processes,
    serves: async (address) => /^Mode: (leader|follower)/m.test((await askTcp(address, 'srvr')) ?? ''),
    leads: async (address) => /^Mode: leader/m.test((await askTcp(address, 'srvr')) ?? ''),
    progress,
  });
}

function configuration(home: string, address: string, members: string, timing: Timing): string {
  const [host, port] = address.split(':');
  return `tickTime=${timing.tickTimeMs}
initLimit=${timing.initLimit}
syncLimit=${timing.syncLimit}
dataDir=${join(home, 'data')}
clientPort=${port}
clientPortAddress=${host}
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
